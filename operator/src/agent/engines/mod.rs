//! The connections to the engines (IO): one for each, with indefinite reconnect, and the engine as
//! it is observed through it.
//!
//! [`watcher`] is what the reconciler asks of any engine; [`open_vswitch`] and [`vpp`] are the two.

mod open_vswitch;
mod socket_folder;
mod vpp;
mod watcher;

pub(crate) use open_vswitch::OpenVswitchWatcher;
pub(crate) use socket_folder::SocketFolderDeleted;
pub(crate) use socket_folder::check as check_socket_folder;
pub(crate) use vpp::VppWatcher;
pub(crate) use watcher::{EngineState, EngineWatcher, Reconnected};
