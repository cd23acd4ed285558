//! One transaction for many actions, and the attribution of its failure to one of them. Pure.
//!
//! Each action begins with guards: the transaction fails as a whole if the rows are not as expected
//! at that moment. An update of a guarded row always matches it, so that the counts of changed rows
//! need no check.

use super::uplinks::{self, Guarded};
use crate::engine::error::OpError;
use crate::engine::ovs::bridge_settings::{self, NETDEV};
use crate::engine::ovs::plan_op::{Action, NewPort};
use crate::engine::ovs::qos::{self, Shaper};
use crate::engine::ovs::tags::BridgeOwner;
use crate::engine::ovs::{ports, tags};
use crate::model::owner::PortOwner;
use crate::model::port::{NetworkPort, PortName, PortSettings};
use std::collections::BTreeSet;
use usnet_crds::{Bridge, BridgeName, NetworkName, Ownership};
use usnet_ovsdb::{Condition, DATABASE, Mutation, NamedUuid, NextCfgIndex, Row, Transaction, Uuid, Value};

/// A transaction under construction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    transaction: Transaction,
    /// The action of each operation of the transaction.
    attributions: Vec<Attribution>,
}

#[derive(Debug, Clone)]
struct Attribution {
    /// The index of the operation in the caller's list.
    operation: usize,
    /// What it means when this guard fails; `None` for what is not a guard.
    guard_error: Option<OpError>,
}

/// The part of one operation.
struct OneOperation<'a> {
    batch: &'a mut Batch,
    operation: usize,
}

impl Guarded for OneOperation<'_> {
    fn guard(&mut self, error: OpError, table: &'static str, conditions: Vec<Condition>) {
        self.batch.guard(self.operation, error, table, conditions);
    }

    fn transaction(&mut self) -> &mut Transaction {
        &mut self.batch.transaction
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.attributions.is_empty()
    }

    /// The action that is to blame for the failure of this operation of the transaction, and the
    /// error if the operation was a guard.
    pub(super) fn blame(&self, index: usize) -> Option<(usize, Option<OpError>)> {
        self.attributions.get(index).map(|attribution| (attribution.operation, attribution.guard_error.clone()))
    }

    /// The complete transaction. It increments `next_cfg`, so that ovs-vswitchd reconfigures.
    pub(super) fn finish(&mut self) -> (&Transaction, NextCfgIndex) {
        let next_cfg = self.transaction.bump_next_cfg();
        (&self.transaction, next_cfg)
    }

    /// Adds what operation number `operation` needs.
    pub(super) fn add(&mut self, operation: usize, action: &Action<'_>) {
        match action {
            Action::DetachPort { bridge, port, row, owner } => self.detach_port(operation, (bridge, port), *row, owner),
            Action::DeleteBridge { name, row, own_ports, owner } => {
                self.delete_bridge(operation, (name, *row), own_ports, *owner);
            }
            Action::DeleteQos { owner } => qos::delete(&mut self.transaction, owner),
            Action::InsertBridge { bridge, network } => self.insert_bridge(bridge, network),
            Action::UpdateBridge { bridge, network, own_port } => {
                self.update_bridge(operation, bridge, network, *own_port);
            }
            Action::InsertPort(new) => self.insert_port(operation, new),
            Action::JoinDevice(port) => self.join_device(operation, port),
            Action::Uplink(uplink) => uplinks::add(&mut OneOperation { batch: self, operation }, uplink),
            Action::UpdatePort { port, settings, shaper, owner } => {
                self.update_port(operation, port, (settings, *shaper), owner);
            }
        }
        self.attributions.resize(self.transaction.operations().len(), Attribution { operation, guard_error: None });
    }

    fn guard(&mut self, operation: usize, guard_error: OpError, table: &'static str, conditions: Vec<Condition>) {
        self.attributions.resize(self.transaction.operations().len(), Attribution { operation, guard_error: None });
        self.transaction.require_row(table, conditions);
        self.attributions.push(Attribution { operation, guard_error: Some(guard_error) });
    }

    fn detach_port(&mut self, operation: usize, (bridge, port): (&str, &PortName), row: Uuid, owner: &PortOwner) {
        let foreign = OpError::Foreign { what: format!("port {port}") };
        let owned = vec![Condition::uuid(row), tags::carries(tags::port_value(owner))];
        self.guard(operation, foreign, "Port", owned);
        // A snapshot of the named rows does not say on which bridge the port is.
        let on_bridge = vec![Condition::equal("name", bridge), Condition::includes("ports", row)];
        self.guard(operation, OpError::PortMissing { port: port.clone() }, "Bridge", on_bridge.clone());
        // The database checks references before it collects unreferenced rows, so that the port's
        // reference to its QoS must be removed explicitly.
        let _ = self.transaction.update("Port", vec![Condition::uuid(row)], Row::new().with("qos", Value::empty()));
        qos::delete(&mut self.transaction, owner);
        let _ = self.transaction.mutate("Bridge", on_bridge, vec![Mutation::delete("ports", row)]);
    }

    fn delete_bridge(
        &mut self,
        operation: usize,
        (name, row): (&str, Uuid),
        own_ports: &BTreeSet<Uuid>,
        owner: BridgeOwner<'_>,
    ) {
        let in_use = OpError::BridgeInUse { bridge: name.to_owned() };
        let empty = Condition::equal("ports", Value::set(own_ports.iter().copied()));
        let owned = vec![Condition::uuid(row), tags::carries(tags::bridge_value(owner)), empty];
        self.guard(operation, in_use, "Bridge", owned);
        let _ = self.transaction.mutate(DATABASE, vec![], vec![Mutation::delete("bridges", row)]);
    }

    fn insert_bridge(&mut self, bridge: &Bridge, network: &NetworkName) {
        let port = self.insert_own_port(bridge);
        let row = bridge_settings::columns(bridge)
            .with("name", bridge.name.as_str())
            .with("external_ids", tags::network_value(network))
            .with("other_config", bridge_settings::initial_other_config(bridge))
            .with("ports", port);
        let row = self.transaction.insert("Bridge", row);
        let _ = self.transaction.mutate(DATABASE, vec![], vec![Mutation::insert("bridges", row)]);
    }

    /// The local port of the bridge.
    fn insert_own_port(&mut self, bridge: &Bridge) -> NamedUuid {
        let name = bridge.name.as_str();
        let interface = bridge_settings::own_interface(bridge).with("name", name).with("type", "internal");
        let interface = self.transaction.insert("Interface", interface);
        self.transaction.insert("Port", Row::new().with("name", name).with("interfaces", interface))
    }

    fn update_bridge(&mut self, operation: usize, bridge: &Bridge, network: &NetworkName, own_port: bool) {
        let name = bridge.name.as_str();
        let missing = OpError::BridgeMissing { bridge: name.to_owned() };
        let owned = vec![Condition::equal("name", name), tags::carries(tags::network_value(network))];
        self.guard(operation, missing.clone(), "Bridge", owned.clone());
        let _ = self.transaction.update("Bridge", owned.clone(), bridge_settings::columns(bridge));
        let other_config = bridge_settings::other_config(bridge);
        let _ = self.transaction.set_map_keys("Bridge", owned.clone(), "other_config", &other_config);
        if own_port {
            let interface = vec![Condition::equal("name", name)];
            self.guard(operation, missing, "Interface", interface.clone());
            let _ = self.transaction.update("Interface", interface, bridge_settings::own_interface(bridge));
        } else {
            let port = self.insert_own_port(bridge);
            let _ = self.transaction.mutate("Bridge", owned, vec![Mutation::insert("ports", port)]);
        }
    }

    /// The bridge that a port is added to; returns what matches it.
    fn guard_bridge(
        &mut self,
        operation: usize,
        (name, ownership): (&BridgeName, Ownership),
        network: &NetworkName,
    ) -> Vec<Condition> {
        let mut bridge = vec![Condition::equal("name", name.as_str()), Condition::equal("datapath_type", NETDEV)];
        if ownership == Ownership::Managed {
            bridge.push(tags::carries(tags::network_value(network)));
        }
        let missing = OpError::BridgeMissing { bridge: name.to_string() };
        self.guard(operation, missing, "Bridge", bridge.clone());
        bridge
    }

    /// Without `mtu_request`, which would change the MTU of the device.
    fn join_device(&mut self, operation: usize, port: &NetworkPort) {
        let bridge = self.guard_bridge(operation, (&port.bridge, port.ownership), &port.device.network);
        let name = port.name.as_str();
        let interface = self.transaction.insert("Interface", ports::device_row().with("name", name));
        let row = Row::new()
            .with("name", name)
            .with("interfaces", interface)
            .with("external_ids", tags::port_value(&PortOwner::of_device(&port.device)));
        let row = self.transaction.insert("Port", row);
        let _ = self.transaction.mutate("Bridge", bridge, vec![Mutation::insert("ports", row)]);
    }

    fn insert_port(&mut self, operation: usize, new: &NewPort<'_>) {
        let NewPort { port, interface, network, .. } = new;
        let bridge = self.guard_bridge(operation, (&port.bridge, port.ownership), network);
        if let Some((socket, serves)) = interface.exclusive_socket() {
            self.transaction.require_no_row("Interface", vec![serves]);
            let in_use = OpError::SocketInUse { socket: socket.as_path().to_owned() };
            self.attributions.push(Attribution { operation, guard_error: Some(in_use) });
        }
        let shaper = interface.shaper();
        let interface =
            interface.row().with("name", port.name.as_str()).with("mtu_request", i64::from(port.settings.mtu));
        let interface = qos::with_policing(interface, &port.settings);
        let interface = self.transaction.insert("Interface", interface);
        let limit = qos::replace(&mut self.transaction, &port.settings, shaper, &new.owner());
        let row = ports::vlan(&port.settings)
            .with("name", port.name.as_str())
            .with("interfaces", interface)
            .with("qos", limit)
            .with("external_ids", tags::port_value(&new.owner()));
        let row = self.transaction.insert("Port", row);
        let _ = self.transaction.mutate("Bridge", bridge, vec![Mutation::insert("ports", row)]);
    }

    fn update_port(
        &mut self,
        operation: usize,
        port: &PortName,
        (settings, shaper): (&PortSettings, Shaper),
        owner: &PortOwner,
    ) {
        let missing = OpError::PortMissing { port: port.clone() };
        let owned = vec![Condition::equal("name", port.as_str()), tags::carries(tags::port_value(owner))];
        self.guard(operation, missing.clone(), "Port", owned.clone());
        let limit = qos::replace(&mut self.transaction, settings, shaper, owner);
        let _ = self.transaction.update("Port", owned, ports::vlan(settings).with("qos", limit));
        let interface = vec![Condition::equal("name", port.as_str())];
        self.guard(operation, missing, "Interface", interface.clone());
        let row = qos::with_policing(Row::new().with("mtu_request", i64::from(settings.mtu)), settings);
        let _ = self.transaction.update("Interface", interface, row);
    }
}
