//! Who creates and removes a port: the plugin, and what it is compared with.

pub(crate) mod at_once;
pub(crate) mod device;
pub(crate) mod floor;
pub(crate) mod ideal;
pub(crate) mod kind;
pub(crate) mod ovs_messages;
pub(crate) mod ovs_vsctl;
pub(crate) mod plugin;
pub(crate) mod pod;
pub(crate) mod unwaited_removal;
pub(crate) mod vpp_messages;
pub(crate) mod vpp_port;
pub(crate) mod vppctl;

use std::time::Duration;

/// Creates and removes ports. Several threads may call it at once, each with numbers of its own.
pub(crate) trait Contestant: Sync {
    /// Creates a port; how long that took.
    fn add(&self, number: usize) -> Duration;

    /// Removes it; how long that took.
    fn del(&self, number: usize) -> Duration;
}
