//! Reasons of an uplink on a node, and of networks that use it.

use super::reasons;

reasons! {
    UPLINK;
    NIC_MISSING = "NicMissing" needs operator {
        UplinkOnNode "Failed": "the node has no such NIC, or several with that MAC address"
        => "connect the NIC, correct its device in the uplink, or exclude the node with spec.nics[].nodeSelector"
    }
    NIC_CARRIES_NODE = "NicCarriesNode" needs operator {
        UplinkOnNode "Failed": "the NIC has an address or default route of the node, or is a member of a bond or bridge; or it is `Shared`, and a network has no VLAN"
        => "use another NIC, or nodeTraffic: Shared with networks that have a VLAN"
    }
    NIC_TAKEN = "NicTaken" needs operator {
        UplinkOnNode "Failed": "another bridge or interface of the engine, or another uplink, has the NIC"
        => "remove the NIC from the other bridge or uplink, or use another NIC"
    }
    NIC_LOST = "NicLost" {
        UplinkOnNode "Failed": "the NIC is gone, renamed, down or without a carrier; the message says which"
        => "connect the NIC again; everything else recovers by itself"
    }
    NIC_MERGES_PACKETS = "NicMergesPackets" {
        UplinkOnNode "Failed": "the driver of the NIC refuses to stop merging received packets (GRO, LRO): TCP to pods is slow"
        => "switch off what merges received packets, with the command in the message (ethtool -K), or use another NIC"
    }
    UPLINK_NOT_READY = "UplinkNotReady" {
        NetworkOnNode "Failed": "the uplink is not programmed here, or selects no NIC: see [an uplink on a node](#an-uplink-on-a-node)"
        => "look at the uplink: kubectl describe usu NAME"
    }
    VLAN_TAKEN = "VlanTaken" needs operator {
        Network "Accepted False": "another network, or `underlay`, has the VLAN or the untagged frames on this uplink"
        NetworkOnNode "Failed": "the same on this node; one that drains still has its VLAN"
        => "use another VLAN, or wait until the other network is gone"
    }
}
