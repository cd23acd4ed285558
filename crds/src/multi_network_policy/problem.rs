//! What of a policy cannot be enforced, for its events.

use crate::InvalidName;
use crate::multi_network_policy::spec::{DEFINITIONS_MAX, POLICY_FOR_ANNOTATION};
use crate::policy::prefixes::{EXCEPTIONS_MAX, PREFIXES_MAX};
use crate::policy::{PEERS_MAX, PORTS_MAX, RULES_MAX};

/// A part of a policy that cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldProblem {
    /// The path of the field, such as `spec.ingress[0].ports[1]`.
    pub field: String,
    pub problem: PolicyProblem,
}

/// Why a part of a policy cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyProblem {
    #[error("the policy is for no network: set the annotation {POLICY_FOR_ANNOTATION} to the names of NADs")]
    NoDefinition,
    #[error("{0:?} is not the name of a NAD: use name or namespace/name")]
    Definition(String),
    #[error("too many NADs: use at most {DEFINITIONS_MAX}")]
    TooManyDefinitions,
    #[error(transparent)]
    Namespace(#[from] InvalidName),
    /// Its rules count for all pods as well.
    #[error("it cannot be read, and the policy restricts all pods of the namespace and allows nothing: {0}")]
    PodSelector(String),
    #[error(
        "the policy has more than {RULES_MAX} rules, {PEERS_MAX} peers (each exception of a block makes several) or {PORTS_MAX} ports, and allows nothing: write several policies"
    )]
    TooLarge,
    #[error("it cannot be read, and allows nothing: {0}")]
    Unreadable(String),
    #[error("{0:?} is no type of a policy: use Ingress or Egress")]
    PolicyType(String),
    #[error("the selector cannot be read, and the peer allows nothing: {0}")]
    Selector(String),
    #[error("the peer has neither selectors nor ipBlock, and allows nothing: set one of them")]
    EmptyPeer,
    #[error("a peer with ipBlock has no selectors, and this one allows nothing: write two peers")]
    BlockWithSelector,
    #[error("{0:?} is not a block of addresses, and the peer allows nothing: use CIDR notation, such as 10.9.0.0/16")]
    Block(String),
    #[error("{0:?} is not part of the block, and the peer allows nothing: use CIDR notation within that of cidr")]
    Exception(String),
    #[error(
        "the block has more than {EXCEPTIONS_MAX} exceptions or {PREFIXES_MAX} parts between them, and allows nothing: write several blocks"
    )]
    TooManyExceptions,
    #[error("protocol {0:?} is not supported, and its port allows nothing: use TCP or UDP")]
    Protocol(String),
    #[error("names of ports are not supported, and {0:?} allows nothing: use its number")]
    NamedPort(String),
    #[error("port {0} does not exist, and allows nothing: use 1 to 65535")]
    Port(i64),
    #[error("endPort {0} ends no range, and the port allows nothing: use a number from port to 65535, or leave it out")]
    EndPort(i64),
}
