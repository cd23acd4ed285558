//! The interface of a pod that uses the kernel's network stack: one end of a veth pair, created in
//! the pod's network namespace. The other end is on the node, where the engine attaches to it.
//!
//! The node's end has the ownership tag `usnet:<attachment>` as its alias; a device with another
//! alias is never deleted. The kernel cannot set the alias on creation. Until it is set, the device
//! is recognized by its MAC address, which is set on creation and derived from the attachment.
//!
//! [`create()`] and [`assign`] are steps of ADD, [`remove()`] is a step of DEL, [`differences`] is
//! part of CHECK, and [`tap`] has what differs where the engine creates the interface itself;
//! [`is_promiscuous`] tells whether an engine uses the device. All of them perform
//! IO: netlink requests to the kernel, those for the pod's end in the pod's network namespace.

mod address;
mod check;
mod checksums;
mod create;
mod error;
mod link;
mod namespace;
mod owner;
mod promiscuous;
mod remove;
pub mod tap;

pub use check::{ExpectedInterface, differences};
pub use checksums::{Permission, follow as follow_checksums};
pub use create::{assign, check_namespace, create};
pub use error::InterfaceError;
pub use owner::device_mac;
pub use promiscuous::is_promiscuous;
pub use remove::remove;
pub use usnet_dataplane::netlink::NetlinkError;
