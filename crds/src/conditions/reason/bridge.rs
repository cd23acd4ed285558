//! Reasons of a network on a node: its bridge, gateway and addresses.

use super::reasons;

reasons! {
    BRIDGE;
    BRIDGE_CONFLICT = "BridgeConflict" needs operator {
        Network "Accepted False": "another network has that bridge on all its nodes. It gets the bridge when the other one is deleted"
        NetworkOnNode "Failed": "the network in the message has that bridge: it was applied first, or is older. Networks can share an adopted bridge of Open vSwitch if each has VLANs of its own, in `attachments` as well"
        => "give one of the two networks another bridge (create it again: a bridge cannot change), or other nodes"
    }
    BRIDGE_EXISTS = "BridgeExists" needs operator {
        NetworkOnNode "Failed": "a bridge or port of that name, or a bridge domain of that id, has no ownership tag of usnet: see `ovs-vsctl show`, `vppctl show bridge-domain`"
        UplinkOnNode "Failed": "the same of a bridge or port `br-up-…`; another name for the uplink helps as well"
        => "remove the bridge that usnet does not own from the node, or create a network with another spec.bridge.name or spec.bridge.id"
    }
    BRIDGE_MISSING = "BridgeMissing" needs operator {
        NetworkOnNode "Failed": "the bridge that the network adopts does not exist on this node"
        => "create the bridge that the network adopts on the node, or exclude the node with spec.nodeSelector"
    }
    BRIDGE_UNUSABLE = "BridgeUnusable" needs operator {
        NetworkOnNode "Failed": "the adopted bridge has `datapath_type` `system` or no flow with the action `NORMAL`, does not forward, or belongs to another network"
        => "change the adopted bridge as the message says, or create a network that adopts another one"
    }
    GATEWAY_EXISTS = "GatewayExists" {
        NetworkOnNode "Failed": "the bridge domain has another BVI, which usnet does not own"
        => "remove the interface that usnet does not own from the bridge domain, or remove spec.gateway"
    }
    GATEWAY_HELD = "GatewayHeld" ends within 480 {
        NetworkOnNode "Failed": "the network [claims too many addresses](gateways.md#a-pod-that-claims-many-addresses), and is without its gateway for 30 to 480 s. [`capture`](capture.md) tells who sends"
        => "find the pod that claims so many addresses and delete it; the gateway comes back by itself, later each time"
    }
    NODE_PREFIX_EXHAUSTED = "NodePrefixExhausted" needs operator {
        NetworkOnNode "Failed": "the ranges of `ipam` have no [part](networks-across-nodes.md#addresses) for the number of this node"
        => "append a range to spec.ipam.ranges, or use another spec.ipam.nodePrefix"
    }
}
