//! Reading interfaces that carry IP packets: whose addresses they use, their tables, and the routes
//! to them in the tables of usnet.

use super::snapshot::{FAMILIES, RoutedInterface, RoutingSnapshot};
use crate::engine::error::EngineError;
use std::collections::BTreeMap;
use std::net::IpAddr;
use usnet_vpp::messages::{
    FibPathType, IpRoute, IpRouteDump, IpTable, IpUnnumberedDump, NO_INTERFACE, SwInterfaceGetTable,
};
use usnet_vpp::{Answers, Batch, DumpTicket, Ticket};

pub(super) struct RoutedTickets {
    unnumbered: DumpTicket<IpUnnumberedDump>,
    /// Tables by interface.
    tables: Vec<(u32, [Ticket<SwInterfaceGetTable>; 2])>,
    /// Routes of each table.
    routes: Vec<DumpTicket<IpRouteDump>>,
}

impl RoutedTickets {
    pub(super) fn request(batch: &mut Batch, snapshot: &RoutingSnapshot, indexes: Vec<u32>) -> Self {
        let unnumbered = batch.dump(IpUnnumberedDump { sw_if_index: NO_INTERFACE });
        let tables = indexes.into_iter().map(|sw_if_index| {
            let request = |is_ipv6| SwInterfaceGetTable { sw_if_index, is_ipv6 };
            (sw_if_index, FAMILIES.map(|is_ipv6| batch.request(request(is_ipv6))))
        });
        let tables = tables.collect();
        let routes = snapshot.tables.values().flatten().map(|(is_ip6, table_id)| {
            let table = IpTable { table_id: *table_id, is_ip6: *is_ip6, ..IpTable::default() };
            batch.dump(IpRouteDump { table })
        });
        let routes = routes.collect();
        Self { unnumbered, tables, routes }
    }

    /// The interfaces by index. One that was deleted meanwhile is left out.
    pub(super) fn read(self, answers: &Answers) -> Result<BTreeMap<u32, RoutedInterface>, EngineError> {
        let mut all = BTreeMap::new();
        for (index, tickets) in self.tables {
            let [four, six] = tickets.map(|ticket| answers.reply(ticket).map(|reply| reply.vrf_id).ok());
            if let Some((four, six)) = four.zip(six) {
                all.insert(index, RoutedInterface { tables: [four, six], ..RoutedInterface::default() });
            }
        }
        for details in answers.details(self.unnumbered)? {
            if let Some(routed) = all.get_mut(&details.sw_if_index) {
                routed.address_of = Some(details.ip_sw_if_index);
            }
        }
        for ticket in self.routes {
            for details in answers.details(ticket)? {
                let Some((index, address)) = host(&details.route) else { continue };
                if let Some(routed) = all.get_mut(&index) {
                    routed.routes.insert((details.route.table_id, address));
                }
            }
        }
        Ok(all)
    }
}

/// The interface and the address of a route for a single address over one interface.
fn host(route: &IpRoute) -> Option<(u32, IpAddr)> {
    let [path] = route.paths.0.as_slice() else { return None };
    let address = route.prefix.ip()?;
    let is_host = route.prefix.length == if address.is_ipv6() { 128 } else { 32 };
    (is_host && path.path_type == FibPathType::Normal).then_some((path.sw_if_index, address))
}
