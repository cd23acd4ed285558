//! Shared parts of the tests: the files of a node, agents with three kinds of input, a kubelet,
//! pods of the legacy plugin, their packets, and measurements of restarts.

pub(crate) mod captures;
pub(crate) mod changes;
pub(crate) mod kubelet;
pub(crate) mod legacy_pods;
pub(crate) mod node;
pub(crate) mod restarts;
pub(crate) mod running_agent;
pub(crate) mod selecting_agent;
pub(crate) mod standalone_agent;
pub(crate) mod tcp;
pub(crate) mod traffic;
pub(crate) mod uplinks;
