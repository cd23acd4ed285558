//! The supported messages, under VPP's names.
//!
//! Each file is a table: a struct, VPP's name, the CRC of its layout and the fields in order. A
//! message has the same CRC in all releases of VPP with the same layout; the CRCs here are valid
//! from VPP 23.06 on. The table has both directions of each message, so that it can be used for a
//! server. Supporting another message takes another entry.

mod acl;
mod af_packet;
mod bridge;
mod classify;
mod interface;
mod ip;
mod ip_neighbor;
mod macros;
mod memclnt;
mod memif;
mod message;
mod policer;
mod queues;
mod route;
mod span;
mod sub_interface;
mod tap;
#[cfg(test)]
mod tests;
mod vhost;
mod vxlan;

pub use acl::*;
pub use af_packet::*;
pub use bridge::*;
pub use classify::*;
pub use interface::*;
pub use ip::*;
pub use ip_neighbor::*;
pub use memclnt::*;
pub use memif::*;
pub use message::{Descriptor, Dump, Get, Message, Reply, Request, write_message};
pub use policer::*;
pub use queues::*;
pub use route::*;
pub use span::*;
pub use sub_interface::*;
pub use tap::*;
pub use vhost::*;
pub use vxlan::*;

pub fn all() -> impl Iterator<Item = &'static Descriptor> {
    [
        CLIENT_MESSAGES,
        VPP_REQUESTS,
        INTERFACE_EVENTS,
        INTERFACE_REQUESTS,
        INTERFACE_DUMPS,
        SUB_INTERFACE_REQUESTS,
        IP_REQUESTS,
        IP_DUMPS,
        NEIGHBOR_REQUESTS,
        NEIGHBOR_DUMPS,
        ROUTE_REQUESTS,
        ROUTE_DUMPS,
        BRIDGE_REQUESTS,
        BRIDGE_DUMPS,
        ACL_MESSAGES,
        ACL_REQUESTS,
        ACL_DUMPS,
        CLASSIFY_REQUESTS,
        CLASSIFY_DUMPS,
        MEMIF_REQUESTS,
        MEMIF_DUMPS,
        POLICER_REQUESTS,
        POLICER_DUMPS,
        VHOST_REQUESTS,
        VHOST_DUMPS,
        AF_PACKET_REQUESTS,
        AF_PACKET_DUMPS,
        VXLAN_REQUESTS,
        VXLAN_DUMPS,
        SPAN_REQUESTS,
        SPAN_DUMPS,
        QUEUE_REQUESTS,
        QUEUE_MESSAGES,
        TAP_REQUESTS,
        TAP_DUMPS,
    ]
    .into_iter()
    .flatten()
}
