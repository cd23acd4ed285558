//! Flows of OpenFlow 1.4, as values. No IO. What a switch would refuse cannot be written: a match
//! on a port of UDP is part of a match on UDP, which is part of one on IP.

mod action;
mod connection;
mod cookie;
mod group;
mod ip;
mod link;
mod masked;
mod oxm;
mod register;
mod step;

pub use action::{Action, Instructions};
pub use connection::{ConnectionState, Original, OriginalPayload};
pub use cookie::{Cookie, CookieFilter};
pub use group::Group;
pub use ip::{Fragments, Icmpv6, IpPayload, Ipv4, Ipv6, Ipv6Payload, Ports};
pub use link::{Arp, ArpOperation, Match, Payload, Vlan, VlanId};
pub use masked::{Bits, Masked};
pub use oxm::Oxm;
pub use register::Register;
pub use step::{GroupId, Output, Step};

/// A flow without timeouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The table: frames begin in table 0.
    pub table: u8,
    /// Of several flows that match a frame the one with the highest priority is used.
    pub priority: u16,
    pub cookie: Cookie,
    pub matches: Match,
    pub action: Action,
}
