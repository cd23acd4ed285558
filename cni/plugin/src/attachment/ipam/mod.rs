//! Addresses from the configured IPAM plugin, called by plugin delegation as the CNI specification
//! defines it. IO: runs the plugin's program.

mod configuration;
mod error;
mod plugin;
mod process;
#[cfg(test)]
mod tests;

pub use configuration::{NetworkIpam, configuration_for, is_same_request};
pub use error::IpamError;
pub use plugin::{IpamPlugin, TIMEOUT};
pub use usnet_dataplane::attachment::needs_interface;
