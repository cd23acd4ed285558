//! A node without an API server: the objects of usnet as YAML files in a folder, for this one node.
//! The agent gets the result as it gets the compiled networks of an API server: selecting, draining
//! and conflicts are handled by the agent. The steps in order; the first two perform IO, all others
//! are pure:
//!
//! 1. [`follow`](mod@follow) (IO): follows a folder for the agent;
//! 2. [`files`] (IO): watches, reads and parses its files, with each [`problem`] of them;
//! 3. [`baseline`]: what the node has, from which each evaluation starts;
//! 4. [`snapshot`]: the cluster of one node that the files describe;
//! 5. [`evaluate`](mod@evaluate): compiles it with the functions of the controller.
//!
//! A file that cannot be used changes nothing: its last valid content stays in effect, also across
//! a restart, and the node's state file reports what is wrong with it. A network that is in no file
//! any more is being deleted: it drains, and stays until its last pod is deleted.

mod baseline;
mod evaluate;
mod files;
mod follow;
pub mod problem;
mod snapshot;

pub use follow::{Channels, follow};
