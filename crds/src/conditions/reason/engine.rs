//! Reasons of the engine of a node, and of what fails in it.

use super::reasons;

reasons! {
    ENGINE;
    CONNECTED = "Connected" {
        Node "OVSConnected, VPPConnected True": "the agent reads the engine, and it acts"
    }
    NEVER_SEEN = "NeverSeen" {
        Node "OVSConnected, VPPConnected False": "the engine has never been connected on this node, so that networks without `nodeSelector` exclude it"
        => "start the engine on the node, or give the networks a spec.nodeSelector without this node"
        OVS "start ovsdb-server and ovs-vswitchd on the node, or give the networks a spec.nodeSelector without this node"
        VPP "start VPP on the node, or give the networks a spec.nodeSelector without this node"
    }
    DISCONNECTED = "Disconnected" ends within 60 {
        Node "OVSConnected, VPPConnected False": "the engine ended, or is a VPP that does not respond (`…; does it hang?`) or is too old (`… does not know the message …`)"
        => "start the engine on the node (ovsdb-server and ovs-vswitchd, or VPP); everything else recovers by itself"
        OVS "start ovsdb-server and ovs-vswitchd on the node; everything else recovers by itself"
        VPP "start VPP on the node, and see its log; everything else recovers by itself"
    }
    ENGINE_STALLED = "NotActing" ends within 60 {
        Node "OVSConnected False": "`ovs-vswitchd` ended or applied no change for 10 s, or its database is empty or cannot be parsed"
        Node "VPPConnected False": "VPP is connected, but lacks the message that the condition names, or answers it in another format"
        => "start ovs-vswitchd on the node and look at its log; for VPP use the release 26.06"
        OVS "start ovs-vswitchd on the node and look at its log"
        VPP "use VPP 26.06, and look at its log on the node"
    }
    ENGINE_UNREACHABLE = "EngineUnreachable" ends within 60 {
        Node "Ready False": "an engine that was connected is not connected any more, or does not act"
        Network "Programmed False": "the same"
        UplinkOnNode "Failed": "the same"
        NetworkOnNode "Failed": "pods cannot attach. Running ones keep their ports; those of a VPP that ended are recreated when it is back"
        AffectedPod "": "the engine of its interfaces is not connected. Open vSwitch forwards on while only `ovsdb-server` is down"
        => "start the engine on the node (ovsdb-server and ovs-vswitchd, or VPP); everything else recovers by itself"
        OVS "start ovsdb-server and ovs-vswitchd on the node; everything else recovers by itself"
        VPP "start VPP on the node, and see its log; everything else recovers by itself"
    }
    ENGINE_REFUSED = "EngineRefused" ends within 60 {
        NetworkOnNode "Failed": "the engine failed to create the bridge, or a tunnel to another node; the message has its text"
        UplinkOnNode "Failed": "the engine does not accept the NIC; the message has its text"
        => "look at the log of the engine on the node; the agent retries, at most 30 s apart"
    }
    ENGINE_UNSUITABLE = "EngineUnsuitable" needs operator {
        NetworkOnNode "Failed": "the engine has no ports of the network's type: Open vSwitch without DPDK (`other_config:dpdk-init` is not set, or DPDK did not start), or VPP without the plugin; or VPP before 26.06 cannot check what pods claim to be (`port.antiSpoofing`). Where only AF_XDP is missing (`port.veth.datapath`), pods attach, and their ports are slower. Other networks are not affected"
        => "as the message says: start Open vSwitch with DPDK, load VPP's plugin, or use a newer VPP; everything else recovers by itself"
    }
    ENGINE_ENDED = "EngineEnded" {
        NodeEvent "": "the process of the engine ended, on purpose or not. The event names up to three interfaces whose programs had connected last, and three without a program: one that sends invalid messages may never count as connected. [What a program can do](operations.md#tenants)"
        => "unless it was stopped on purpose, look at its log, and then at these pods"
    }
}
