//! Reading gateways and routing tables: tables with everything else, then the addresses and tables
//! of each loopback that is, or may be, a gateway of usnet.

use super::names;
use super::neighbours::NeighbourTickets;
use super::routed_tickets::RoutedTickets;
use super::snapshot::{FAMILIES, Loopback, RoutingSnapshot};
use crate::engine::error::EngineError;
use crate::model::routing::PrefixedAddress;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{
    BridgeDomainDetails, IfStatusFlags, IpAddressDump, IpTableDump, NO_INTERFACE, SwInterfaceDetails,
    SwInterfaceGetTable,
};
use usnet_vpp::{Answers, Api, Batch, DumpTicket, Ticket};

/// What VPP calls the kind of such interfaces.
const LOOPBACK: &str = "Loopback";
/// The first byte of the MAC addresses of gateways. VPP itself chooses others for loopbacks.
const GATEWAY_MAC: [u8; 1] = [0x02];

/// Where the tables are in the answers.
#[derive(Debug)]
pub(in crate::engine::vpp) struct TablesTicket(DumpTicket<IpTableDump>);

impl TablesTicket {
    pub(in crate::engine::vpp) fn request(batch: &mut Batch) -> Self {
        Self(batch.dump(IpTableDump {}))
    }

    /// What the answers say: everything but addresses and tables of loopbacks.
    pub(in crate::engine::vpp) fn read(
        self,
        answers: &Answers,
        domains: &[BridgeDomainDetails],
        interfaces: &[SwInterfaceDetails],
    ) -> Result<RoutingSnapshot, EngineError> {
        let mut snapshot = RoutingSnapshot::default();
        for details in answers.details(self.0)? {
            let key = (details.is_ip6, details.table_id);
            snapshot.ids.insert(key);
            if let Some(table) = names::table(details.name.as_str()) {
                snapshot.tables.entry(table).or_default().insert(key);
            }
        }
        let name_of: BTreeMap<u32, String> =
            interfaces.iter().map(|interface| (interface.sw_if_index, interface.interface_name.to_string())).collect();
        let bvis = domains.iter().filter(|domain| domain.bvi_sw_if_index != NO_INTERFACE);
        let with_name = |index: u32| (index, name_of.get(&index).cloned().unwrap_or_default());
        snapshot.bvis = bvis.map(|domain| (domain.bd_id, with_name(domain.bvi_sw_if_index))).collect();
        let members = domains
            .iter()
            .flat_map(|domain| domain.sw_if_details.iter().map(|member| (member.sw_if_index, domain.bd_id)));
        let member_of: BTreeMap<u32, u32> = members.collect();
        let loopbacks = interfaces.iter().filter(|interface| interface.interface_dev_type.as_str() == LOOPBACK);
        let loopbacks = loopbacks.filter_map(|details| {
            let domain = member_of.get(&details.sw_if_index).copied();
            Some((details.sw_if_index, loopback(details, domain)?))
        });
        snapshot.loopbacks = loopbacks.collect();
        Ok(snapshot)
    }
}

/// `None` for one that is certain to be of others.
fn loopback(details: &SwInterfaceDetails, domain: Option<u32>) -> Option<Loopback> {
    let tag = details.tag.as_str();
    let network = names::gateway(tag);
    let may_be_incomplete = tag.is_empty() && domain.is_none() && details.l2_address.starts_with(&GATEWAY_MAC);
    let [mtu, ..] = details.mtu;
    (network.is_some() || may_be_incomplete).then(|| Loopback {
        network,
        domain,
        mac: details.l2_address,
        mtu,
        is_enabled: details.flags.contains(IfStatusFlags::ADMIN_UP),
        neighbours: [0; 2],
        addresses: BTreeSet::new(),
        tables: [0; 2],
    })
}

/// Adds addresses and tables to what was read before, and what belongs to these interfaces that
/// carry IP packets.
pub(in crate::engine::vpp) async fn read(
    api: &mut impl Api,
    snapshot: &mut RoutingSnapshot,
    routed: Vec<u32>,
) -> Result<(), EngineError> {
    if snapshot.loopbacks.is_empty() && routed.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::new();
    let tickets: Vec<_> =
        snapshot.loopbacks.keys().map(|index| (*index, Tickets::request(&mut batch, *index))).collect();
    let neighbours = NeighbourTickets::request(&mut batch, api);
    let routed = (!routed.is_empty()).then(|| RoutedTickets::request(&mut batch, snapshot, routed));
    let answers = api.send(&batch).await?;
    for (index, tickets) in tickets {
        match (tickets.read(&answers)?, snapshot.loopbacks.get_mut(&index)) {
            (Some((addresses, tables)), Some(loopback)) => {
                loopback.addresses = addresses;
                loopback.tables = tables;
            }
            // It was deleted meanwhile.
            _ => drop(snapshot.loopbacks.remove(&index)),
        }
    }
    neighbours.read(&answers, snapshot)?;
    if let Some(routed) = routed {
        snapshot.routed = routed.read(&answers)?;
    }
    Ok(())
}

/// Adds the tables of all interfaces, which are given with their names.
pub(in crate::engine::vpp) async fn read_bindings(
    api: &mut impl Api,
    snapshot: &mut RoutingSnapshot,
    interfaces: Vec<(u32, String)>,
) -> Result<(), EngineError> {
    let mut batch = Batch::new();
    let tickets: Vec<_> = interfaces
        .into_iter()
        .flat_map(|(sw_if_index, name)| FAMILIES.map(|is_ipv6| (sw_if_index, is_ipv6, name.clone())))
        .map(|(sw_if_index, is_ipv6, name)| {
            (is_ipv6, name, batch.request(SwInterfaceGetTable { sw_if_index, is_ipv6 }))
        })
        .collect();
    let answers = api.send(&batch).await?;
    for (is_ipv6, name, ticket) in tickets {
        // An interface that was deleted meanwhile is bound to none.
        if let Ok(reply) = answers.reply(ticket) {
            snapshot.bound.insert((is_ipv6, reply.vrf_id), name);
        }
    }
    Ok(())
}

/// Where the answers about one loopback are, by family.
struct Tickets {
    addresses: [DumpTicket<IpAddressDump>; 2],
    tables: [Ticket<SwInterfaceGetTable>; 2],
}

type AddressesAndTables = (BTreeSet<PrefixedAddress>, [u32; 2]);

impl Tickets {
    fn request(batch: &mut Batch, sw_if_index: u32) -> Self {
        Self {
            addresses: FAMILIES.map(|is_ipv6| batch.dump(IpAddressDump { sw_if_index, is_ipv6 })),
            tables: FAMILIES.map(|is_ipv6| batch.request(SwInterfaceGetTable { sw_if_index, is_ipv6 })),
        }
    }

    /// `None` if VPP does not know the interface any more.
    fn read(self, answers: &Answers) -> Result<Option<AddressesAndTables>, EngineError> {
        let mut addresses = BTreeSet::new();
        for ticket in self.addresses {
            let details = answers.details(ticket)?;
            addresses.extend(details.iter().filter_map(|it| Some((it.prefix.ip()?, it.prefix.length))));
        }
        let [four, six] = self.tables.map(|ticket| answers.reply(ticket).map(|reply| reply.vrf_id).ok());
        Ok(four.zip(six).map(|(four, six)| (addresses, [four, six])))
    }
}
