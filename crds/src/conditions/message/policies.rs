//! Messages about the policies of a network on a node, which the agent writes.

/// The agent may not read policies, or has not read them yet.
pub const UNKNOWN: &str = "the agent has not read the policies of the network (compiledpolicies.usnet.dev), and the ports of its pods on this node are closed until then: config/components/policies gives the agent the right to read them";

/// The policies need more flows than a bridge gets.
pub fn too_large(flows: usize, most: usize) -> String {
    format!(
        "the policies of the network need {flows} flows on this node, and a bridge gets at most {most}: the ports of pods that they restrict are closed; write fewer rules, larger blocks of addresses and ranges of ports, or divide the pods among several networks"
    )
}
