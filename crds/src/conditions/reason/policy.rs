//! Reasons of a network on a node: its policies.

use super::reasons;

reasons! {
    POLICY;
    POLICIES_UNKNOWN = "PoliciesUnknown" ends within 60 {
        NetworkOnNode "Failed": "the network has [`policies`](policies.md), and the agent has neither read the CompiledPolicies nor a copy of them: the ports of pods are closed"
        => "install config/components/policies, without which the agent may not read CompiledPolicies; otherwise look at the log of the node's agent"
    }
    POLICY_TOO_LARGE = "PolicyTooLarge" needs operator {
        NetworkOnNode "Failed": "the [policies](policies.md) of the network need more flows than usnet gives a bridge of Open vSwitch, or more rules than it gives VPP: the ports of pods of the namespaces with the most rules are closed on the node, or of the pods with too many, and the message names these"
        => "write fewer rules, larger blocks of addresses and ranges of ports instead of single ones, or divide the pods among several networks"
    }
}
