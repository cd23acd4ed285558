//! Reasons of a network on a node: its overlay.

use super::reasons;

reasons! {
    OVERLAY;
    PEERS_UNKNOWN = "PeersUnknown" ends within 60 {
        NetworkOnNode "Failed": "addresses of nodes are not known: the agent has not read UserspaceNodeSlices yet, there is no API server, or the Node has no InternalIP of the family `ipFamily`, or none that a device has. A node that had peers keeps them"
        => "give the Node an InternalIP that a device of the node has; with an API server it then recovers by itself"
    }
    UNDERLAY_EXHAUSTED = "UnderlayExhausted" needs operator {
        NetworkOnNode "Failed": "[`underlay.subnet`](networks-across-nodes.md#encapsulation-by-the-engine) of the uplink has no address for the number of this node"
        => "use a larger spec.underlay.subnet of the uplink, or exclude the node with spec.nodeSelector"
    }
    VNI_TAKEN = "VniTaken" needs operator {
        Network "Accepted False": "another network has the VNI at that UDP port"
        NetworkOnNode "Failed": "another VXLAN device, or a network of the other engine, has its VNI and UDP port. `nodeSelector` of one can exclude the node"
        => "leave spec.topology.overlay.vni out, or use another; remove a device that is not usnet's"
    }
    PORT_TAKEN = "PortTaken" needs operator {
        NetworkOnNode "Failed": "another program, or a VXLAN device of another kind (`external`, or over IPv6 with UDP checksums), has the UDP port of the overlay"
        => "use another spec.topology.overlay.port, or remove the program or device that has it"
    }
    MTU_TOO_LARGE = "MtuTooLarge" needs operator {
        NetworkOnNode "Failed": "frames of the network do not fit into the NIC of its uplink or, with 50 bytes of VXLAN (70 over IPv6), into the device with the node's address"
        => "use a smaller spec.bridge.mtu, or a larger MTU of the node's device"
    }
    OVERLAY_UNPROTECTED = "OverlayUnprotected" {
        NetworkOnNode "Failed": "the kernel did not take the rules (nftables) that keep packets of others out of overlays. What is connected stays so"
        => "load the kernel's module nf_tables on the node, or use a kernel that has it; until then no new overlay is created there"
    }
    MISSING_PRIVILEGE = "MissingPrivilege" needs operator {
        NetworkOnNode "Failed": "the agent lacks `CAP_NET_ADMIN` or the node's network, as with `config/overlays/node-local`"
        UplinkOnNode "Failed": "the same"
        => "install config/default, whose agents have CAP_NET_ADMIN, or set spec.topology to NodeLocal"
    }
    DEVICE_FAILED = "DeviceFailed" {
        NetworkOnNode "Failed": "the kernel refused the VXLAN device or its veth pair, or has no nftables for them (`CONFIG_NF_TABLES_NETDEV`, `CONFIG_NFT_FWD_NETDEV`)"
        UplinkOnNode "Failed": "the kernel refused the node's `underlay` address, or has no nftables for the NIC (`CONFIG_NF_TABLES_NETDEV`)"
        => "act on the kernel's error in the message; the agent retries, at most 30 s apart"
    }
}
