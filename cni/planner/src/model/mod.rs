//! Values of this crate. No IO.
//!
//! [`desired`] and [`observed`] describe an engine with the same terms ([`bridge`],
//! [`port`], [`tagging`], [`uplink`], [`routing`], [`attachment`], [`memif`], [`policy_zone`]);
//! [`drift`] describes their differences for users.

pub mod attachment;
pub mod bridge;
pub mod bridge_settings;
pub mod capture;
pub mod desired;
pub mod drift;
pub mod learned_mac;
pub mod memif;
pub mod observed;
pub mod owner;
pub mod policy_zone;
pub mod port;
pub mod port_counters;
pub mod routing;
pub mod tagging;
pub mod underlay;
pub mod uplink;
