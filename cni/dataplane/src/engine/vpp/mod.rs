//! The driver for VPP, through its binary API.
//!
//! A network is a bridge domain, an attachment an interface in it: a memif of which VPP is the
//! master, a vhost-user interface or a host interface (af_packet). Ownership is stored in their
//! tags; objects without a tag of usnet are only read. VPP loses its configuration when it ends, so
//! that everything can be recreated from a record.
//!
//! A list of operations is applied in parts of one kind. Each part reads a snapshot, plans, and
//! sends all of its commands in a few batches. VPP has no transactions: what other clients change
//! in between shows in its replies, and then that operation is planned again on a new snapshot.
//!
//! The gateway of a network is a loopback in its bridge domain (`routing`). A network on an uplink
//! has a sub-interface of the NIC there, and an overlay that VPP encapsulates has a tunnel to each
//! other node there (`ports`).
//!
//! Pitfalls, and where they are handled:
//! - An interface is tagged after its creation. An untagged one on a socket id of usnet is
//!   incomplete: an ADD that needs its socket completes it (`plan_op`), a DEL of its attachment
//!   deletes it.
//! - Adding an interface to a bridge domain that does not exist creates one implicitly, without a
//!   tag. Each new port is read back (`create_ports`); an implicit bridge domain is not reported
//!   as a bridge, and its ports count as unbridged (`observe`).
//! - A memif that could not be created leaves the reference count of its socket id wrong: the id is
//!   deleted before it is used again.

mod apply;
mod bridge_settings;
mod command;
mod driver;
mod error;
mod filter_command;
mod guard;
mod observe;
mod plan_op;
pub mod policy;
mod port_setting_command;
mod port_settings;
mod ports;
mod qos;
mod queues;
mod request;
mod routing;
mod snapshot;
pub(crate) mod spans;
mod tags;

pub use driver::Vpp;
pub use tags::{TAG_MAX, check_attachment};
pub(crate) use tags::{is_of_network, owner_of, port_of_pod};
