//! A node without an API server: the objects of usnet are YAML files in a folder for this one node.
//! The agent gets the result in the same form as the compiled networks of an API server, and
//! handles
//! selection, draining and conflicts. The steps in order:
//!
//! 1. [`follow`](mod@follow) (IO) follows a folder for the agent.
//! 2. [`files`] (IO) watches, reads and parses the files, and reports each
//!    [problem](usnet_node::problem).
//! 3. [`baseline`] is the previous state, from which each evaluation starts.
//! 4. [`snapshot`] is the cluster of one node that the files describe.
//! 5. [`evaluate`](mod@evaluate) compiles the snapshot with the functions of the controller.
//!
//! A file that cannot be used changes nothing: its last valid content stays in effect, also across
//! a
//! restart, and the node's state file reports the problem. A network that is in no file any more is
//! being deleted: it drains, and stays until its last pod is deleted.

mod baseline;
mod evaluate;
mod files;
pub mod follow;
mod snapshot;

pub use follow::follow;
