//! What the tests share: the files of a node, agents that are given their input in three ways, a
//! kubelet, and the times of restarts.

pub(crate) mod captures;
pub(crate) mod kubelet;
pub(crate) mod node;
pub(crate) mod restarts;
pub(crate) mod running_agent;
pub(crate) mod selecting_agent;
pub(crate) mod standalone_agent;
pub(crate) mod tcp;
pub(crate) mod uplinks;
