//! Several interfaces in one call, without Multus: usnet stands in the runtime's own list of plugins, behind the one that makes `eth0`, and attaches
//! what the pod's annotation lists. The runtime passes the annotations on, so nobody is asked for the pod.
//!
//! Each element of the annotation becomes the configuration that Multus would give, and is attached as that would be. A runtime knows of
//! one attachment for all of them, the one of its call; the records say so ([`Record::called_for`](usnet_dataplane::attachment::Record)).

pub mod add;
pub mod annotation;
mod del_check_status;
pub mod element;

pub use add::add;
pub use del_check_status::{check, del, status};
