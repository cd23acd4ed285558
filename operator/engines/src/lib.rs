//! Engines that usnet runs on nodes, one `UserspaceEngine` for each set of nodes.
//!
//! - [`controller`]: makes a DaemonSet of each object, restarts its pods under the update policy,
//!   and reports. It has rights in the API, and no privileges on nodes.
//! - [`supervisor`]: the first process in these pods: it starts the processes of the engine in
//!   their order and keeps them running. It has privileges on its node, and no rights in the API:
//!   what it says reaches the API by the agent of the node.
//! - [`settings`]: what the first tells the second.

pub mod controller;
pub mod settings;
pub mod supervisor;
