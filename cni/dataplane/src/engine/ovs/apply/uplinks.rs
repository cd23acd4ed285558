//! The operations on uplinks in a transaction, each behind guards.

use crate::engine::error::OpError;
use crate::engine::ovs::bridge_settings::{self, NETDEV};
use crate::engine::ovs::{ports, tags};
use crate::model::owner::PortOwner;
use crate::model::port::PortName;
use crate::model::tagging::Tagging;
use crate::model::underlay::{Tunnel, UplinkAddress};
use crate::model::uplink::{KernelNic, PatchPair, PatchPort, UplinkBridge};
use crate::plan::UplinkOp;
use std::collections::BTreeMap;
use usnet_crds::{BridgeName, Ownership, UplinkName};
use usnet_ovsdb::{Condition, DATABASE, Mutation, NamedUuid, Row, Transaction, Value};

/// A transaction that knows what it means when one of its guards fails.
pub(super) trait Guarded {
    /// The transaction fails unless a row matches.
    fn guard(&mut self, error: OpError, table: &'static str, conditions: Vec<Condition>);
    /// The transaction itself.
    fn transaction(&mut self) -> &mut Transaction;
}

/// Adds an operation.
pub(super) fn add(batch: &mut impl Guarded, operation: &UplinkOp) {
    match operation {
        UplinkOp::CreateBridge { uplink, bridge } => create_bridge(batch.transaction(), uplink, bridge),
        UplinkOp::RestoreBridge { uplink, bridge } => {
            let owned = guard_bridge(batch, bridge.as_str(), uplink);
            let row = bridge_settings::common_columns().with("flood_vlans", Value::empty());
            let _ = batch.transaction().update("Bridge", owned, row);
        }
        // It is an action of its own.
        UplinkOp::RemoveBridge { .. } => {}
        UplinkOp::JoinNic { uplink, nic, bridge } => {
            bridge.iter().for_each(|bridge| join_nic(batch, (uplink, bridge), nic));
        }
        UplinkOp::SetVlans { uplink, index, port, vlans } => {
            let owner = tags::port_value(&PortOwner::of_nic(uplink, *index));
            let owned = vec![Condition::equal("name", port.as_str()), tags::carries(owner)];
            batch.guard(OpError::PortMissing { port: port.clone() }, "Port", owned.clone());
            let _ = batch.transaction().update("Port", owned, ports::tagging_columns(&vlans.tagging()));
        }
        UplinkOp::Connect { pair } => connect(batch, pair),
        UplinkOp::SetAddress { uplink, bridge, address } => {
            bridge.iter().for_each(|bridge| set_address(batch, (uplink, bridge), address.as_ref()));
        }
        UplinkOp::CreateTunnel { tunnel } => create_tunnel(batch, tunnel),
    }
}

/// The bridge of an uplink; returns what matches it.
fn guard_bridge(batch: &mut impl Guarded, name: &str, uplink: &UplinkName) -> Vec<Condition> {
    let owned = vec![Condition::equal("name", name), tags::carries(tags::uplink_value(uplink))];
    batch.guard(OpError::BridgeMissing { bridge: name.to_owned() }, "Bridge", owned.clone());
    owned
}

fn create_bridge(transaction: &mut Transaction, uplink: &UplinkName, bridge: &BridgeName) {
    let name = bridge.as_str();
    let interface = transaction.insert("Interface", Row::new().with("name", name).with("type", "internal"));
    let port = transaction.insert("Port", Row::new().with("name", name).with("interfaces", interface));
    let row = bridge_settings::common_columns()
        .with("name", name)
        .with("external_ids", tags::uplink_value(uplink))
        .with("ports", port);
    let row = transaction.insert("Bridge", row);
    let _ = transaction.mutate(DATABASE, vec![], vec![Mutation::insert("bridges", row)]);
}

/// Without `mtu_request`, which would change the MTU of the NIC.
fn join_nic(
    batch: &mut impl Guarded,
    (uplink, UplinkBridge { name, vlans }): (&UplinkName, &UplinkBridge),
    nic: &KernelNic,
) {
    let bridge = guard_bridge(batch, name.as_str(), uplink);
    let name = PortName::from(&nic.device);
    let port = insert_port(
        batch.transaction(),
        (&name, &PortOwner::of_nic(uplink, nic.index)),
        ports::device_row(),
        ports::tagging_columns(&vlans.tagging()),
    );
    let _ = batch.transaction().mutate("Bridge", bridge, vec![Mutation::insert("ports", port)]);
}

/// The local port of the bridge gets the VLAN and the MAC address; the kernel gives it the address.
fn set_address(
    batch: &mut impl Guarded,
    (uplink, bridge): (&UplinkName, &BridgeName),
    address: Option<&UplinkAddress>,
) {
    let name = bridge.as_str();
    let owned = guard_bridge(batch, name, uplink);
    let port = vec![Condition::equal("name", name)];
    batch.guard(OpError::PortMissing { port: PortName::observed(name) }, "Port", port.clone());
    let tagging = address.map_or(Tagging::Untagged, UplinkAddress::tagging);
    let transaction = batch.transaction();
    let _ = transaction.update("Port", port, ports::tagging_columns(&tagging));
    let tag = tags::ADDRESS_KEY.to_owned();
    match address {
        Some(UplinkAddress { address, mac, .. }) => {
            let keys = BTreeMap::from([(tag, address.to_string())]);
            let _ = transaction.set_map_keys("Bridge", owned.clone(), "external_ids", &keys);
            if let Some(mac) = mac {
                let keys = bridge_settings::mac_config(*mac);
                let _ = transaction.set_map_keys("Bridge", owned, "other_config", &keys);
            }
        }
        None => {
            let mutations = [("external_ids", tag), ("other_config", bridge_settings::MAC_KEY.to_owned())];
            let mutations = mutations.map(|(column, key)| Mutation::delete(column, Value::set([&key])));
            let _ = transaction.mutate("Bridge", owned, mutations.into());
        }
    }
}

/// Frames from one tunnel are never sent to another: the peer has sent them there itself.
fn create_tunnel(batch: &mut impl Guarded, tunnel: &Tunnel) {
    let bridge = tunnel.bridge.as_str();
    let owned = vec![
        Condition::equal("name", bridge),
        Condition::equal("datapath_type", NETDEV),
        tags::carries(tags::network_value(&tunnel.network)),
    ];
    batch.guard(OpError::BridgeMissing { bridge: bridge.to_owned() }, "Bridge", owned.clone());
    let columns = ports::tagging_columns(&Tagging::Untagged).with("protected", true);
    let interface = ports::tunnel_row(&tunnel.ends);
    let port = insert_port(batch.transaction(), (&tunnel.name, &tunnel.owner()), interface, columns);
    let _ = batch.transaction().mutate("Bridge", owned, vec![Mutation::insert("ports", port)]);
}

/// Both ports at once: one alone would be reported as an error by the switch.
fn connect(batch: &mut impl Guarded, pair: &PatchPair) {
    let mut network = vec![Condition::equal("name", pair.bridge.as_str()), Condition::equal("datapath_type", NETDEV)];
    if pair.ownership == Ownership::Managed {
        network.push(tags::carries(tags::network_value(&pair.network)));
    }
    batch.guard(OpError::BridgeMissing { bridge: pair.bridge.to_string() }, "Bridge", network.clone());
    let Some(end) = &pair.uplink_end else { return };
    let uplink = guard_bridge(batch, end.bridge.as_str(), &pair.uplink);
    let owner = pair.owner();
    for ((PatchPort { name, peer, .. }, tagging), bridge) in pair.ports().zip([network, uplink]) {
        let columns = ports::tagging_columns(&tagging);
        let interface = peer.map_or_else(Row::new, ports::patch_row);
        let port = insert_port(batch.transaction(), (name, &owner), interface, columns);
        let _ = batch.transaction().mutate("Bridge", bridge, vec![Mutation::insert("ports", port)]);
    }
}

fn insert_port(
    transaction: &mut Transaction,
    (name, owner): (&PortName, &PortOwner),
    interface: Row,
    columns: Row,
) -> NamedUuid {
    let interface = transaction.insert("Interface", interface.with("name", name.as_str()));
    let row =
        columns.with("name", name.as_str()).with("interfaces", interface).with("external_ids", tags::port_value(owner));
    transaction.insert("Port", row)
}
