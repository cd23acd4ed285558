//! What the tests share: the files of a node, agents that are given their input in three ways, and
//! a kubelet.

pub(crate) mod kubelet;
pub(crate) mod node;
pub(crate) mod running_agent;
pub(crate) mod selecting_agent;
pub(crate) mod standalone_agent;
