//! Reasons of an uplink on a node, and of networks that use it.

use super::reasons;

reasons! {
    UPLINK;
    NIC_MISSING = "NicMissing" needs operator {
        UplinkOnNode "Failed": "the node has no such NIC, or several with that MAC address; the message names what was looked for"
        => "connect the NIC, correct its device in the uplink, or exclude the node with spec.nics[].nodeSelector"
    }
    NIC_CARRIES_NODE = "NicCarriesNode" needs operator {
        UplinkOnNode "Failed": "the NIC has an address or a default route of the node, or is a member of a bond or bridge of the kernel. Or it is shared with the node, and a network has no VLAN"
        => "use another NIC, or nodeTraffic: Shared with networks that have a VLAN"
    }
    NIC_TAKEN = "NicTaken" needs operator {
        UplinkOnNode "Failed": "another bridge or interface of the engine, or another uplink, has the NIC"
        => "remove the NIC from the other bridge or uplink, or use another NIC"
    }
    NIC_LOST = "NicLost" {
        UplinkOnNode "Failed": "the engine had the NIC, and it is gone, renamed, down or without a carrier; the message says which"
        => "connect the NIC again; everything else recovers by itself"
    }
    NIC_MERGES_PACKETS = "NicMergesPackets" {
        UplinkOnNode "Failed": "the NIC merges packets that it receives (GRO, LRO), and its driver did not let the agent switch that off: TCP to pods is slow"
        => "switch off what merges received packets, with the command in the message (ethtool -K), or use another NIC"
    }
    UPLINK_NOT_READY = "UplinkNotReady" {
        NetworkOnNode "Failed": "the uplink of the network is not programmed on this node, or selects no NIC of it; the message says why: see [an uplink on a node](#an-uplink-on-a-node)"
        => "look at the uplink: kubectl describe usu NAME"
    }
    VLAN_TAKEN = "VlanTaken" needs operator {
        Network "Accepted False": "another network has the VLAN on this uplink, or the untagged frames, or its `underlay` has them"
        NetworkOnNode "Failed": "another network has the VLAN on the uplink of this node, or one that drains still has it. Where `underlay` has the VLAN: set another there or in the network"
        => "use another VLAN, or wait until the other network is gone"
    }
}
