//! Plans an operation on a gateway or a routing table, given a snapshot. Pure.

use super::command::RoutingCommand;
use super::names;
use super::snapshot::{FAMILIES, Loopback, RoutingSnapshot};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::port_setting_command::PortSettingCommand;
use crate::model::routing::{NetworkGateway, RoutingTable};
use crate::plan::RoutingOp;
use std::collections::BTreeSet;
use usnet_crds::NetworkName;
use usnet_crds::names::fnv1a;

/// The ids of tables that usnet chooses begin here: others usually choose small ones.
const FIRST_ID: u32 = 0x4000_0000;
/// The table of interfaces that are bound to no other.
const DEFAULT_TABLE: u32 = 0;

/// What is to be done for an operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) enum RoutingDecision {
    /// These commands, and nothing if there are none.
    Apply(Vec<VppCommand>),
    /// These commands, and then the operation is planned again on a new snapshot. What it is
    /// reported with if that does not end.
    Continue(Vec<VppCommand>, String),
}

/// `claimed`: ids of tables that earlier operations of the list create. `domain`: the id of a
/// network's own bridge domain, if it is there.
pub(in crate::engine::vpp) fn plan(
    operation: &RoutingOp,
    snapshot: &RoutingSnapshot,
    claimed: &mut BTreeSet<(bool, u32)>,
    domain: impl Fn(&NetworkGateway) -> Option<u32>,
) -> Result<RoutingDecision, OpError> {
    match operation {
        RoutingOp::RemoveGateway { network } => Ok(RoutingDecision::Apply(remove_gateways(snapshot, network))),
        RoutingOp::RemoveTable { table } => remove_table(snapshot, table),
        RoutingOp::CreateTable { table, .. } => create_table(snapshot, claimed, table),
        RoutingOp::SetGateway { gateway } => {
            let bridge = gateway.bridge.to_string();
            let domain = domain(gateway).ok_or(OpError::BridgeMissing { bridge })?;
            set_gateway(snapshot, gateway, domain)
        }
    }
}

fn remove_gateways(snapshot: &RoutingSnapshot, network: &NetworkName) -> Vec<VppCommand> {
    snapshot.of_network(network).flat_map(|(index, loopback)| delete(snapshot, index, loopback)).collect()
}

/// The loopback is deleted without addresses and out of its tables: what it left behind would keep
/// the tables, or be the next interface's with its index.
fn delete(snapshot: &RoutingSnapshot, index: u32, loopback: &Loopback) -> Vec<VppCommand> {
    let addresses = remove_addresses(index, loopback, |_| true);
    let bindings = FAMILIES.into_iter().zip(loopback.tables).filter(|(_, id)| *id != DEFAULT_TABLE);
    let leave = bindings.map(|(is_ip6, _)| RoutingCommand::SetTable { index, is_ip6, id: DEFAULT_TABLE });
    let commands = snapshot.release(index).into_iter().chain(addresses).chain(leave);
    commands.chain([RoutingCommand::DeleteLoopback { index }]).map(VppCommand::Routing).collect()
}

fn remove_addresses(
    index: u32,
    loopback: &Loopback,
    is_wrong: impl Fn(&(std::net::IpAddr, u8)) -> bool,
) -> impl Iterator<Item = RoutingCommand> {
    let addresses = loopback.addresses.iter().filter(move |address| is_wrong(address));
    addresses.map(move |address| RoutingCommand::RemoveAddress { index, address: *address })
}

/// VPP deletes a table that is in use without saying so, and then counts its users wrongly.
fn remove_table(snapshot: &RoutingSnapshot, table: &RoutingTable) -> Result<RoutingDecision, OpError> {
    let ids = || snapshot.tables.get(table).into_iter().flatten();
    if let Some(name) = ids().find_map(|key| snapshot.bound.get(key)) {
        let reason =
            format!("interface {name} is bound to it, which is not a gateway of usnet: bind it to another table");
        return Err(OpError::Refused { what: table.to_string(), reason });
    }
    let commands = ids().map(|(is_ip6, id)| RoutingCommand::DeleteTable { is_ip6: *is_ip6, id: *id }.into());
    Ok(RoutingDecision::Apply(commands.collect()))
}

fn create_table(
    snapshot: &RoutingSnapshot,
    claimed: &mut BTreeSet<(bool, u32)>,
    table: &RoutingTable,
) -> Result<RoutingDecision, OpError> {
    let name = names::table_name(table)?;
    let existing = snapshot.tables.get(table);
    let is_there = |is_ip6: bool| existing.is_some_and(|ids| ids.iter().any(|(family, _)| *family == is_ip6));
    let mut commands = Vec::new();
    for is_ip6 in FAMILIES.into_iter().filter(|is_ip6| !is_there(*is_ip6)) {
        let is_free = |id: &u32| !snapshot.ids.contains(&(is_ip6, *id)) && !claimed.contains(&(is_ip6, *id));
        let Some(id) = candidates(name.as_str()).find(is_free) else {
            let reason = "VPP has no free id for it".to_owned();
            return Err(OpError::Refused { what: table.to_string(), reason });
        };
        claimed.insert((is_ip6, id));
        commands.push(RoutingCommand::AddTable { is_ip6, id, name: name.clone() }.into());
    }
    Ok(RoutingDecision::Apply(commands))
}

/// The ids for a table of this name: one that follows from it, and those after that.
fn candidates(name: &str) -> impl Iterator<Item = u32> {
    let mask = FIRST_ID - 1;
    let first = u32::try_from(fnv1a(name.as_bytes()) & u64::from(mask)).unwrap_or_default();
    (0..mask).map(move |step| FIRST_ID | (first.wrapping_add(step) & mask))
}

fn set_gateway(snapshot: &RoutingSnapshot, gateway: &NetworkGateway, domain: u32) -> Result<RoutingDecision, OpError> {
    let tag = names::gateway_tag(&gateway.network)?;
    let refused =
        |reason: String| Err(OpError::Refused { what: format!("the gateway of network {}", gateway.network), reason });
    let Some(tables) = snapshot.ids_of(&gateway.table) else {
        return refused(format!("{} is missing", gateway.table));
    };
    let bvi = snapshot.bvis.get(&domain);
    let is_foreign = |bvi: &u32| snapshot.loopbacks.get(bvi).is_none_or(|loopback| loopback.network.is_none());
    if let Some((_, name)) = bvi.filter(|(bvi, _)| is_foreign(bvi)) {
        return refused(format!("bridge domain {domain} has {name} as its BVI, which is not owned by usnet"));
    }
    let mut own = snapshot.of_network(&gateway.network);
    let incomplete = snapshot.loopbacks.iter().map(|(index, loopback)| (*index, loopback));
    let mut incomplete =
        incomplete.filter(|(_, loopback)| loopback.network.is_none() && loopback.mac == gateway.mac.octets());
    let Some((index, loopback)) = own.next().or_else(|| incomplete.next()) else {
        let create = RoutingCommand::CreateLoopback { mac: gateway.mac.octets() };
        let reason = "another client removes its interface again".to_owned();
        return Ok(RoutingDecision::Continue(vec![create.into()], reason));
    };
    let mut commands: Vec<VppCommand> = own.flat_map(|(index, loopback)| delete(snapshot, index, loopback)).collect();
    if loopback.network.is_none() {
        commands.push(VppCommand::SetTag { index, tag });
    }
    let unlimited = FAMILIES.into_iter().zip(snapshot.is_unlimited).filter(|(_, is_unlimited)| *is_unlimited);
    commands.extend(unlimited.map(|(is_ip6, _)| RoutingCommand::LimitNeighbours { is_ip6 }.into()));
    if gateway.is_held {
        commands.extend(set_down(index, loopback));
        return Ok(RoutingDecision::Apply(commands));
    }
    let changes = layer_3(index, loopback, gateway, tables);
    commands.extend(snapshot.around(index, changes, tables).into_iter().map(VppCommand::Routing));
    let is_bvi = bvi.is_some_and(|(bvi, _)| *bvi == index);
    commands.extend(layer_2((index, loopback), gateway, (domain, is_bvi)));
    Ok(RoutingDecision::Apply(commands))
}

/// Nothing of its network reaches it any more. What else differs is changed when it is up again.
fn set_down(index: u32, loopback: &Loopback) -> impl Iterator<Item = VppCommand> {
    let leave = loopback.domain.map(|id| VppCommand::RemoveFromBridgeDomain { index, id });
    let down = loopback.is_enabled.then_some(VppCommand::Routing(RoutingCommand::SetDown { index }));
    leave.into_iter().chain(down)
}

/// Tables and addresses. VPP rejects another table while there is an address.
fn layer_3(index: u32, loopback: &Loopback, gateway: &NetworkGateway, tables: [u32; 2]) -> Vec<RoutingCommand> {
    let moves = loopback.tables != tables;
    let mut commands: Vec<RoutingCommand> =
        remove_addresses(index, loopback, |address| moves || !gateway.addresses.contains(address)).collect();
    let bindings = FAMILIES.into_iter().zip(tables).zip(loopback.tables).filter(|((_, id), bound)| id != bound);
    commands.extend(bindings.map(|((is_ip6, id), _)| RoutingCommand::SetTable { index, is_ip6, id }));
    let missing = gateway.addresses.iter().filter(|address| moves || !loopback.addresses.contains(*address));
    commands.extend(missing.map(|address| RoutingCommand::AddAddress { index, address: *address }));
    commands
}

/// VPP's bridge domain has the MAC address that its BVI had when it joined.
fn layer_2(
    (index, loopback): (u32, &Loopback),
    gateway: &NetworkGateway,
    (domain, is_bvi): (u32, bool),
) -> Vec<VppCommand> {
    let mut commands = Vec::new();
    let has_mac = loopback.mac == gateway.mac.octets();
    if !has_mac {
        let leave = loopback.domain.map(|id| VppCommand::RemoveFromBridgeDomain { index, id });
        commands.extend(leave);
        commands.push(RoutingCommand::SetMac { index, mac: gateway.mac.octets() }.into());
    }
    if loopback.mtu != u32::from(gateway.mtu.get()) {
        commands.push(PortSettingCommand::Mtu { index, mtu: gateway.mtu }.into());
    }
    if !has_mac || !is_bvi || loopback.domain != Some(domain) {
        commands.push(RoutingCommand::Join { index, domain }.into());
    }
    if !loopback.is_enabled {
        commands.push(VppCommand::SetAdminUp { index });
    }
    commands
}
