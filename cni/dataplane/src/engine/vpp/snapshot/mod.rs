//! A snapshot of VPP: bridge domains, interfaces, memif sockets and policers.
//!
//! `read`, `features` and `filters` perform IO, and so does the method of `vpp_snapshot` that reads
//! access lists; the others are values.

mod addresses;
mod bridge_domain;
mod features;
mod filters;
mod interface;
mod learn_limits;
mod nics;
mod read;
mod vpp_snapshot;

pub(super) use bridge_domain::BridgeDomain;
pub(super) use features::{FeatureTickets, Features};
pub(super) use filters::{Filter, FilterTickets, Filters};
pub(super) use interface::Interface;
pub(super) use read::{BridgeDomainTickets, read_marks};
pub(super) use vpp_snapshot::VppSnapshot;
