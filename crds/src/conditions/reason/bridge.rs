//! Reasons of a network on a node: its bridge, gateway and addresses.

use super::reasons;

reasons! {
    BRIDGE;
    BRIDGE_CONFLICT = "BridgeConflict" needs operator {
        Network "Accepted False": "on every node that it selects another network of that engine has that bridge. It gets the bridge when the other one is deleted"
        NetworkOnNode "Failed": "another network, which the message names, has that bridge on this node: the one that was applied first, or else the older one. Networks with Open vSwitch can share an adopted bridge if each has `port.vlan` with VLANs that no other has, in `attachments` as well"
        => "give one of the two networks another bridge (create it again: a bridge cannot change), or other nodes"
    }
    BRIDGE_EXISTS = "BridgeExists" needs operator {
        NetworkOnNode "Failed": "a bridge or port of that name, or a bridge domain of that id, exists without an ownership tag of usnet: see `ovs-vsctl show`, `vppctl show bridge-domain`"
        UplinkOnNode "Failed": "a bridge or port `br-up-…` exists that is not the uplink's; another name for the uplink helps as well"
        => "remove the bridge that usnet does not own from the node, or create a network with another spec.bridge.name or spec.bridge.id"
    }
    BRIDGE_MISSING = "BridgeMissing" needs operator {
        NetworkOnNode "Failed": "the bridge or bridge domain that the network adopts does not exist on this node"
        => "create the bridge that the network adopts on the node, or exclude the node with spec.nodeSelector"
    }
    BRIDGE_UNUSABLE = "BridgeUnusable" needs operator {
        NetworkOnNode "Failed": "the adopted bridge does not support ports of usnet: its `datapath_type` is `system`, no flow of it has the action `NORMAL`, or it does not forward or belongs to another network"
        => "change the adopted bridge as the message says, or create a network that adopts another one"
    }
    GATEWAY_EXISTS = "GatewayExists" {
        NetworkOnNode "Failed": "the network has a gateway, and its bridge domain has another BVI, which usnet does not own"
        => "remove the interface that usnet does not own from the bridge domain, or remove spec.gateway"
    }
    GATEWAY_HELD = "GatewayHeld" ends within 480 {
        NetworkOnNode "Failed": "the network's gateway on this node had more than 8,192 neighbours of one family, or most of a table that was nearly full, which all networks of VPP share. It is down for 30 s, twice as long each time up to 480 s, and its neighbours are forgotten. Pods attach, and reach each other; they do not reach other networks. [`capture`](capture.md) shows who sends"
        => "find the pod that claims so many addresses and delete it; the gateway comes back by itself, later each time"
    }
    NODE_PREFIX_EXHAUSTED = "NodePrefixExhausted" needs operator {
        NetworkOnNode "Failed": "the ranges of `ipam` have no part for the number of this node, or nothing is left of it: [addresses](networks-across-nodes.md#addresses)"
        => "append a range to spec.ipam.ranges, or use another spec.ipam.nodePrefix"
    }
}
