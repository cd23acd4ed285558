//! Several interfaces in one call, without Multus: usnet is in the runtime's plugin list, after the
//! plugin that creates `eth0`, and attaches the networks that the pod's annotation selects. The
//! runtime passes the annotations, so the API server is not needed.
//!
//! Each network selection element is converted to the configuration that Multus would pass, and
//! attached in the same way. For the runtime they are one attachment, that of its call; the records
//! keep the interface name of that call
//! ([`Record::invoked_ifname`](usnet_dataplane::attachment::Record)).

pub mod add;
pub mod claims;
mod del_check_status;

pub use add::add;
pub use del_check_status::{check, del, status};
