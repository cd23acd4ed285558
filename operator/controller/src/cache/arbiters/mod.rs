//! What only one network can have: a VLAN of an uplink ([`uplink_use`]), a VNI ([`overlays`]), the
//! subnets of a gateway in its routing domain ([`routing_domains`]). Who has what follows from
//! networks and compiled networks alone, so that a restart changes nothing:
//!
//! 1. a network keeps what it has been compiled with, if it still requests that;
//! 2. what a compiled network has is not free, whatever its network requests now;
//! 3. of several networks that request one resource, the oldest gets it.
//!
//! The [`arbiter`] applies these rules; a network that gets nothing has a [`conflict`].
//! [`reserving`] decides on pods and addresses within one network, by the first and the third rule.

mod arbiter;
pub mod conflict;
pub mod overlays;
pub(crate) mod reserving;
pub mod routing_domains;
pub mod uplink_use;
