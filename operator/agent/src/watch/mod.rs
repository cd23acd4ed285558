//! What the agent watches besides its engines.
//!
//! - [`follow`](mod@follow) (IO) lists and watches all compiled networks and uplinks, the node's
//!   own state, and while there is an overlay the node slices at the API server, each through a
//!   [`list_watch`] (IO) that waits as [`api_backoff`] says.
//! - [`collect`] merges the networks into one input for the selection, [`node_state`] adds the
//!   labels of the node and passes the stored status to the status writer, [`node_slices`] adds the
//!   addresses of all nodes, and [`uplinks`] the uplinks. [`policies`] collects those of networks
//!   that have any, and [`pod_slices`] the pods that they select.
//! - [`link_watch`] (IO) reports changes of the node's network devices and of its packet rules.
//! - [`folder_watch`] (IO) reports changes in folders of the node: journal, network files, devices;
//!   [`file_identity`] (IO) tells a replaced file.

pub(crate) mod api_backoff;
mod collect;
pub(crate) mod file_identity;
pub(crate) mod folder_watch;
mod follow;
pub(crate) mod link_watch;
pub(crate) mod list_watch;
mod node_slices;
mod node_state;
mod pod_slices;
mod policies;
#[cfg(test)]
mod tests;
mod uplinks;

pub(crate) use follow::{PodSliceChannels, PolicyChannels, Subscribers, follow};
pub(crate) use node_state::{Owners, StoredStatus};
