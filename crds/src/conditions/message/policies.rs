//! Messages about the policies of a network on a node, which the agent writes.

/// The agent may not read policies, or has not read them yet.
pub const UNKNOWN: &str = "the agent has not read the policies of the network (compiledpolicies.usnet.dev), and the ports of its pods on this node are closed until then: config/components/policies gives the agent the right to read them, and a node without an API server has none";

/// The engine gets what it should have.
pub const PENDING: &str = "the engine is being given the policies of the network";

/// The policies need more of the engine than it has.
pub fn too_large(why: &str) -> String {
    format!(
        "the policies of the network cannot be enforced on this node: {why}: write fewer rules, larger blocks of addresses and ranges of ports, or divide the pods among several networks"
    )
}
