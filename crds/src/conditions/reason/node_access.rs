//! Reasons of a network on a node: the node itself in it.

use super::reasons;

reasons! {
    NODE_ACCESS;
    NODE_ACCESS_EXHAUSTED = "NodeAccessExhausted" needs operator {
        NetworkOnNode "Failed": "the subnet of [`nodeAccess`](node-access.md) has no address for the number of this node"
        => "use a larger subnet in spec.nodeAccess, or exclude the node with spec.nodeSelector"
    }
    NODE_ACCESS_FAILED = "NodeAccessFailed" {
        NetworkOnNode "Failed": "the node cannot be in the network itself: the kernel refused its device or the rules that keep pods from the node, or the agent lacks `CAP_NET_ADMIN`"
        => "act on the error in the message: the kernel needs nf_tables with masquerading, the agent what config/default gives it; or remove spec.nodeAccess"
    }
    SUBNET_ROUTED = "SubnetRouted" needs operator {
        NetworkOnNode "Failed": "the node has a route that overlaps a subnet of [`nodeAccess`](node-access.md), or is in another network with such a subnet"
        => "use another subnet in spec.nodeAccess, or exclude the node with spec.nodeSelector"
    }
}
