//! The neighbours of gateways: VPP learns the sender of each ARP request and neighbour
//! advertisement that reaches one, into one table for all networks.

use super::snapshot::{FAMILIES, Loopback, RoutingSnapshot};
use crate::engine::error::EngineError;
use crate::model::routing::{NEIGHBOUR_LIMIT, NEIGHBOUR_RESERVE, NEIGHBOUR_SHARE};
use usnet_vpp::messages::{AddressFamily, IpNeighborConfig, IpNeighborConfigGet, IpNeighborDump, NO_INTERFACE};
use usnet_vpp::{Answers, Api, Batch, DumpTicket, Ticket};

/// A full table learns nothing more, so that a flood does not take the place of running pods.
/// Nothing ages: on an overlay, pods of other nodes do not answer the question whether they are
/// still there, because their own node's gateway has the same MAC address.
pub(super) fn config(is_ip6: bool) -> IpNeighborConfig {
    let max_number = u32::try_from(NEIGHBOUR_LIMIT).unwrap_or(u32::MAX);
    IpNeighborConfig { af: family(is_ip6), max_number, max_age: 0, recycle: false }
}

/// Where the answers are, by family.
pub(super) struct NeighbourTickets {
    neighbours: [DumpTicket<IpNeighborDump>; 2],
    /// `None` if this VPP does not tell it.
    configs: Option<[Ticket<IpNeighborConfigGet>; 2]>,
}

impl NeighbourTickets {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Self {
        let of = |is_ip6| IpNeighborDump { sw_if_index: NO_INTERFACE, af: family(is_ip6) };
        let neighbours = FAMILIES.map(|is_ip6| batch.dump(of(is_ip6)));
        let is_told = api.supports::<IpNeighborConfigGet>();
        let configs = is_told.then(|| FAMILIES.map(|is_ip6| batch.request(IpNeighborConfigGet { af: family(is_ip6) })));
        Self { neighbours, configs }
    }

    /// Adds what the answers say.
    pub(super) fn read(self, answers: &Answers, snapshot: &mut RoutingSnapshot) -> Result<(), EngineError> {
        for (ticket, is_ip6) in self.neighbours.into_iter().zip(FAMILIES) {
            let all = answers.details(ticket)?;
            *of_family(&mut snapshot.neighbours, is_ip6) = all.len();
            for details in all {
                if let Some(loopback) = snapshot.loopbacks.get_mut(&details.neighbor.sw_if_index) {
                    *of_family(&mut loopback.neighbours, is_ip6) += 1;
                }
            }
        }
        for (ticket, is_ip6) in self.configs.into_iter().flatten().zip(FAMILIES) {
            let (found, wanted) = (answers.reply(ticket)?, config(is_ip6));
            *of_family(&mut snapshot.is_unlimited, is_ip6) =
                (found.max_number, found.max_age, found.recycle) != (wanted.max_number, wanted.max_age, wanted.recycle);
        }
        Ok(())
    }
}

impl RoutingSnapshot {
    /// How many neighbours of a family a gateway has, if these are more than its share, or most of
    /// a table that is nearly full.
    pub(super) fn excess(&self, loopback: &Loopback) -> Option<usize> {
        let of_one = |is_ip6: bool| {
            let number = |[four, six]: [usize; 2]| if is_ip6 { six } else { four };
            let count = number(loopback.neighbours);
            let is_largest = self.loopbacks.values().all(|other| number(other.neighbours) <= count);
            let is_last_resort = number(self.neighbours) > NEIGHBOUR_RESERVE && is_largest;
            (count > NEIGHBOUR_SHARE || is_last_resort).then_some(count)
        };
        FAMILIES.into_iter().filter_map(of_one).max()
    }
}

fn of_family<T>([four, six]: &mut [T; 2], is_ip6: bool) -> &mut T {
    if is_ip6 { six } else { four }
}

fn family(is_ip6: bool) -> AddressFamily {
    if is_ip6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 }
}
