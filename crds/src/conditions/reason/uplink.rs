//! Reasons of an uplink on a node, and of networks that use it.

use super::reasons;

reasons! {
    UPLINK;
    NIC_MISSING = "NicMissing" needs operator {
        UplinkOnNode "Failed": "the node has no such NIC, or several with that MAC address"
        => "connect the NIC, correct its device in the uplink, or exclude the node with spec.nics[].nodeSelector"
    }
    NIC_CARRIES_NODE = "NicCarriesNode" needs operator {
        UplinkOnNode "Failed": "the NIC has an address or default route of the node, is a member of a bond or bridge, or has a device of the node on it, such as a VLAN; or it is `Shared`, and a network has no VLAN"
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
    BOND_DEGRADED = "BondDegraded" {
        Uplink "Degraded True": "on some nodes, members of the bond carry no frames; the message names the first"
        UplinkOnNode "Programmed": "members of the bond carry no frames, and the others do; the message says which, and why"
        => "connect the member again, or set up LACP on its port of the switch; the rest recovers by itself"
    }
    NO_LACP_PARTNER = "NoLacpPartner" {
        UplinkOnNode "Failed": "the mode of the bond is LACP, and the switch answers on none of its members: no frames pass"
        => "set up LACP on the ports of the switch, as one group, or use the mode ActiveBackup"
    }
    NIC_MERGES_PACKETS = "NicMergesPackets" {
        UplinkOnNode "Failed": "the driver of the NIC refuses to stop merging received packets (GRO, LRO): TCP to pods is slow"
        => "switch off what merges received packets, with the command in the message (ethtool -K), or use another NIC"
    }
    NIC_STRIPS_TAGS = "NicStripsTags" {
        UplinkOnNode "Failed": "the driver is AFXDP, and the NIC goes on to take off VLAN tags: frames with a tag are lost"
        => "switch it off, with the command in the message (ethtool -K), or use the driver AFPacket"
    }
    NIC_NOT_BOUND = "NicNotBound" {
        UplinkOnNode "Failed": "the driver is DPDK, and the NIC is on a driver of Linux, or could not be taken from it; the message says which"
        => "bind the NIC to vfio-pci (driverctl set-override ADDRESS vfio-pci), or set dpdk.bind: WhenFree; vfio-pci needs an IOMMU that is switched on in the firmware and in Linux (intel_iommu=on)"
    }
    NIC_HAS_FUNCTIONS = "NicHasFunctions" needs operator {
        UplinkOnNode "Failed": "the NIC has virtual functions, which would be gone if it were taken from its driver"
        => "use one of its virtual functions or another NIC, or remove the functions (sriov_numvfs) when no pod has one"
    }
    IOMMU_GROUP_SHARED = "IommuGroupShared" needs operator {
        UplinkOnNode "Failed": "the NIC shares its IOMMU group with devices that Linux uses, so that no program may have it"
        => "bind the other devices of the group to vfio-pci as well if the node does not need them, or use a NIC in another slot"
    }
    DPDK_UNAVAILABLE = "DpdkUnavailable" {
        UplinkOnNode "Failed": "the driver is DPDK, and the engine runs without DPDK, or without PCI devices"
        => "configure and restart the engine as the message says"
    }
    ENGINE_TAKES_DEVICES = "EngineTakesDevices" {
        UplinkOnNode "Failed": "the engine has no list of allowed devices: at its next start it takes every NIC on vfio-pci, also those of pods"
        => "give the engine such a list: ovs-vsctl set Open_vSwitch . other_config:dpdk-extra=\"-a 0000:00:00.0\", and restart ovs-vswitchd; ports by their addresses work all the same"
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
