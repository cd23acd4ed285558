//! Errors of the network and its engine on the node.

use super::errors;

errors! {
    ENGINE;
    UNAVAILABLE = 11 "TryAgainLater" "The network cannot be used on this node now; kubelet tries again. A known [reason of the network](#a-network-on-a-node) is in the brackets instead: `usnet[11 EngineUnreachable]`." {
        "the engine does not answer or act"
        says "Open vSwitch accepted the request but did not act on it within 3 s"
        => "start `ovsdb-server` and `ovs-vswitchd`, or VPP";
        "the bridge was just deleted, or an old port has the name or the socket"
        says "bridge br-blue does not exist or is not owned by this network; the agent repairs it, try again"
        => "wait: kubelet repeats the call; if it stays, `kubectl usnet explain node NAME`";
        "another call holds the attachment or the mounts"
        => "wait: kubelet repeats the call";
    }
    NODE_NOT_SELECTED = 11 "NodeNotSelected" "The network is not on this node, after 3 s of waiting." {
        "the labels of the node do not match, or its engine was never connected"
        says "its nodeSelector does not select this node: \"rack=a\" is required"
        => "label the node, change `nodeSelector`, start the engine, or use another node";
    }
    NETWORK_UNKNOWN = 11 "NetworkUnknown" "The agent of this node does not know the network, after 3 s of waiting." {
        "there is no such network, or no agent runs on the node"
        => "see `kubectl get usn`, and `kubectl get pods -n usnet-system -o wide` for agents";
    }
    NO_NETWORK_OF_BRIDGE = 11 "NoNetworkOfBridge" "No network on this node has the bridge of a legacy configuration, after 3 s of waiting." {
        "the network that the operator creates for the bridge failed, or was not created"
        => "see `kubectl describe usn` of the network in the message, and the events of the NetworkAttachmentDefinition";
    }
    NOT_AVAILABLE = 50 "NotAvailable" "STATUS: pods cannot be attached now. The reason of the cause is in the brackets." {
    }
    LIMITED_CONNECTIVITY = 51 "LimitedConnectivity" "STATUS: attached pods may have lost connectivity as well. The reason of the cause is in the brackets." {
    }
    PORT_REJECTED = 104 "PortRejected" "The engine rejected the port, or something of that name is not owned by usnet." {
        "the text of the engine says why"
        says "port vhu… could not be configured: the engine reports \"…\""
        => "see the engine's log; it needs `/run/usnet/ports` (and `/run/netns`) as the host has them";
        "VPP lacks a plugin or is too old"
        says "it does not know the message memif_create_v2; load the plugin memif_plugin.so in its startup.conf"
        => "load the plugin in the startup.conf of VPP, or install a release that has the message";
        "the node has a device of the port's name"
        says "device vhu… already exists on this node and is not owned by usnet"
        => "remove the device on the node";
        "the bridge that the network adopts was just deleted or changed"
        => "see [BridgeMissing](#bridgemissing) and [BridgeUnusable](#bridgeunusable)";
        "no memif socket id is left"
        => "configure a larger range with `--memif-socket-ids` of the agent";
    }
}
