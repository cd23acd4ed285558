//! The connections to the engines (IO). Each reconnects indefinitely, and observes its engine.
//!
//! [`watcher`] is the interface for the reconciler; [`open_vswitch`] and [`vpp`] implement it.

mod attached_pods;
mod open_vswitch;
mod socket_folder;
mod supervised;
mod vpp;
mod watcher;

pub(crate) use open_vswitch::{OpenVswitchWatcher, PolicySources};
pub(crate) use socket_folder::SocketFolderDeleted;
pub(crate) use socket_folder::check as check_socket_folder;
pub(crate) use supervised::Supervised;
pub(crate) use vpp::{AclSources, VppWatcher};
pub(crate) use watcher::{EngineState, EngineWatcher, Reconnected};
