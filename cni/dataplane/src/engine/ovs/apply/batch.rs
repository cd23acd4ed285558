//! One transaction for many actions, and the attribution of its failure to one of them. Pure.
//!
//! Each action begins with guards: the transaction fails as a whole if the rows are not as expected
//! at that moment. An update of a guarded row always matches it, so that the counts of changed rows
//! need no check.

use crate::engine::error::OpError;
use crate::engine::ovs::bonds::{self, PortInterface};
use crate::engine::ovs::bridge_settings::{self, NETDEV};
use crate::engine::ovs::plan_op::{Action, NewPort};
use crate::engine::ovs::qos::{self, Shaper};
use crate::engine::ovs::{port_settings, ports, quarantine, queues, tags};
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::owner::PortOwner;
use crate::model::port::{DesiredPort, DesiredSettings, PortBridge, PortName};
use crate::model::tagging::Tagging;
use crate::model::underlay::UplinkAddress;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{Ownership, Queues};
use usnet_ovsdb::{Condition, DATABASE, Mutation, NamedUuid, NextCfgIndex, Row, Transaction, Uuid, Value};

#[derive(Debug, Default)]
pub(super) struct Batch {
    transaction: Transaction,
    /// The action of each operation of the transaction.
    attributions: Vec<Attribution>,
    /// Bridges to whose new ports nothing may be flooded.
    quarantine: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct Attribution {
    /// The index of the operation in the caller's list.
    operation: usize,
    /// What it means when this guard fails; `None` for what is not a guard.
    guard_error: Option<OpError>,
}

impl Batch {
    /// An empty one; new ports of pods on the bridges of these names are in [`quarantine`].
    pub(super) fn new(quarantine: BTreeSet<String>) -> Self {
        Self { quarantine, ..Self::default() }
    }

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
                self.delete_bridge(operation, (name, *row), own_ports, owner);
            }
            Action::DeleteQos { owner } => qos::delete(&mut self.transaction, owner),
            Action::InsertBridge { bridge } => self.insert_bridge(bridge),
            Action::UpdateBridge { bridge, own_port } => self.update_bridge(operation, bridge, *own_port),
            Action::InsertPort(ports) => ports.iter().for_each(|port| self.insert_port(operation, port)),
            Action::TagPort { port, found, interface } => self.tag_port(operation, port, found, interface),
            Action::TagBridge { bridge, found, ports } => self.tag_bridge(operation, bridge, found, ports),
            Action::UpdatePort { port, shaper } => self.update_port(operation, port, *shaper),
            Action::SetAddress { .. } => self.set_address(operation, action),
        }
        self.attributions.resize(self.transaction.operations().len(), Attribution { operation, guard_error: None });
    }

    /// Changes a row that a guard has matched.
    pub(super) fn mutate(&mut self, table: &'static str, row: Uuid, mutation: Mutation) {
        let _ = self.transaction.mutate(table, vec![Condition::uuid(row)], vec![mutation]);
    }

    pub(super) fn guard(
        &mut self,
        operation: usize,
        guard_error: OpError,
        table: &'static str,
        conditions: Vec<Condition>,
    ) {
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
        owner: &BridgeOwner,
    ) {
        let in_use = OpError::BridgeInUse { bridge: name.to_owned() };
        let empty = Condition::equal("ports", Value::set(own_ports.iter().copied()));
        let owned = vec![Condition::uuid(row), tags::carries(tags::bridge_value(owner)), empty];
        self.guard(operation, in_use, "Bridge", owned);
        let _ = self.transaction.mutate(DATABASE, vec![], vec![Mutation::delete("bridges", row)]);
    }

    fn insert_bridge(&mut self, bridge: &DesiredBridge) {
        let name = bridge.name().as_str();
        let port = self.insert_own_port(bridge);
        let row = bridge_settings::columns(bridge)
            .with("name", name)
            .with("external_ids", tags::new_bridge_value(&bridge.owner(), bridge_settings::external_ids(bridge)))
            .with("other_config", bridge_settings::initial_other_config(bridge))
            .with("ports", port);
        let row = self.transaction.insert("Bridge", row);
        let _ = self.transaction.mutate(DATABASE, vec![], vec![Mutation::insert("bridges", row)]);
    }

    /// The local port of the bridge.
    fn insert_own_port(&mut self, bridge: &DesiredBridge) -> NamedUuid {
        let name = bridge.name().as_str();
        let interface = bridge_settings::own_interface(bridge).with("name", name).with("type", "internal");
        let interface = self.transaction.insert("Interface", interface);
        self.transaction.insert("Port", Row::new().with("name", name).with("interfaces", interface))
    }

    fn update_bridge(&mut self, operation: usize, bridge: &DesiredBridge, own_port: bool) {
        let name = bridge.name().as_str();
        let missing = OpError::BridgeMissing { bridge: name.to_owned() };
        let owned = vec![Condition::equal("name", name), tags::carries(tags::bridge_value(&bridge.owner()))];
        self.guard(operation, missing.clone(), "Bridge", owned.clone());
        let _ = self.transaction.update("Bridge", owned.clone(), bridge_settings::columns(bridge));
        for (key, value) in bridge_settings::external_ids(bridge) {
            self.set_tag("Bridge", owned.clone(), key, value);
        }
        let other_config = bridge_settings::other_config(bridge);
        if !other_config.is_empty() {
            let _ = self.transaction.set_map_keys("Bridge", owned.clone(), "other_config", &other_config);
        }
        if !own_port {
            let port = self.insert_own_port(bridge);
            let _ = self.transaction.mutate("Bridge", owned, vec![Mutation::insert("ports", port)]);
        } else if bridge.network().is_some() {
            let interface = vec![Condition::equal("name", name)];
            self.guard(operation, missing, "Interface", interface.clone());
            let _ = self.transaction.update("Interface", interface, bridge_settings::own_interface(bridge));
        }
    }

    /// The bridge that a port is added to; returns what matches it.
    fn guard_bridge(&mut self, operation: usize, bridge: &PortBridge) -> Vec<Condition> {
        let name = bridge.name.as_str();
        let mut row = vec![Condition::equal("name", name), Condition::equal("datapath_type", NETDEV)];
        if bridge.ownership == Ownership::Managed {
            row.push(tags::carries(tags::bridge_value(&bridge.owner)));
        }
        self.guard(operation, OpError::BridgeMissing { bridge: name.to_owned() }, "Bridge", row.clone());
        row
    }

    fn insert_port(&mut self, operation: usize, NewPort { port, interfaces }: &NewPort<'_>) {
        // Planning refuses a port on no bridge.
        let Some(bridge) = &port.bridge else { return };
        let bridge_name = bridge.name.as_str();
        let bridge = self.guard_bridge(operation, bridge);
        let rows: Vec<_> =
            interfaces.iter().map(|interface| self.insert_interface(operation, interface, &port.settings)).collect();
        let columns = ports::port_row(&port.backend, port_settings::port_columns(&port.settings));
        let mut columns = bonds::port_row(&port.backend, columns);
        let shaper = interfaces.first().and_then(|(_, interface, _)| interface.shaper());
        if let Some((limits, shaper)) = port.settings.rate_limit.zip(shaper) {
            columns = columns.with("qos", qos::replace(&mut self.transaction, limits, shaper, &port.owner));
        }
        if port.settings.guard.is_some() && self.quarantine.contains(bridge_name) {
            columns = quarantine::begin(columns);
        }
        let row = columns
            .with("name", port.name.as_str())
            .with("interfaces", Value::set(rows))
            .with("external_ids", tags::new_port_value(&port.owner, port.settings.guard.as_ref()));
        let row = self.transaction.insert("Port", row);
        let _ = self.transaction.mutate("Bridge", bridge, vec![Mutation::insert("ports", row)]);
    }

    fn insert_interface(
        &mut self,
        operation: usize,
        (name, interface, receive_queues): &PortInterface<'_>,
        settings: &DesiredSettings,
    ) -> NamedUuid {
        if let Some((socket, serves)) = interface.exclusive_socket() {
            self.transaction.require_no_row("Interface", vec![serves]);
            let in_use = OpError::SocketInUse { socket: socket.as_path().to_owned() };
            self.attributions.push(Attribution { operation, guard_error: Some(in_use) });
        }
        let name = name.as_str();
        let columns = port_settings::interface_columns(interface.row(), settings);
        let row = self.transaction.insert("Interface", columns.with("name", name));
        self.set_options(name, *receive_queues);
        let mutations: Vec<_> = settings.queues.into_iter().flat_map(queues::insert).collect();
        if !mutations.is_empty() {
            let _ = self.transaction.mutate("Interface", vec![Condition::equal("name", name)], mutations);
        }
        row
    }

    fn update_port(
        &mut self,
        operation: usize,
        DesiredPort { name, owner, settings, backend, .. }: &DesiredPort,
        shaper: Shaper,
    ) {
        let missing = OpError::PortMissing { port: name.clone() };
        let owned = vec![Condition::equal("name", name.as_str()), tags::carries(tags::port_value(owner))];
        self.guard(operation, missing.clone(), "Port", owned.clone());
        let mut columns = port_settings::port_columns(settings);
        if let Some(limits) = settings.rate_limit {
            columns = columns.with("qos", qos::replace(&mut self.transaction, limits, shaper, owner));
        }
        let _ = self.transaction.update("Port", owned.clone(), columns);
        self.set_tag("Port", owned, tags::GUARD_KEY, settings.guard.as_ref().map(ToString::to_string));
        for interface in backend.interface_names(name) {
            self.update_interface(operation, interface, settings, &missing);
        }
    }

    fn set_tag(&mut self, table: &'static str, rows: Vec<Condition>, key: &'static str, value: Option<String>) {
        let delete = Mutation::delete("external_ids", Value::set([key]));
        let insert = value.map(|value| Mutation::insert("external_ids", Value::map([(key, value)])));
        let _ = self.transaction.mutate(table, rows, [delete].into_iter().chain(insert).collect());
    }

    fn update_interface(&mut self, operation: usize, name: &str, settings: &DesiredSettings, missing: &OpError) {
        let columns = port_settings::interface_columns(Row::new(), settings);
        let mutations: Vec<_> = settings.queues.into_iter().flat_map(queues::replace).collect();
        let interface = vec![Condition::equal("name", name)];
        if columns != Row::new() || !mutations.is_empty() {
            self.guard(operation, missing.clone(), "Interface", interface.clone());
        }
        if columns != Row::new() {
            let _ = self.transaction.update("Interface", interface.clone(), columns);
        }
        if !mutations.is_empty() {
            let _ = self.transaction.mutate("Interface", interface, mutations);
        }
        self.set_options(name, settings.receive_queues);
    }

    /// The options of an interface that settings have; the others stay.
    fn set_options(&mut self, interface: &str, receive_queues: Option<Queues>) {
        let options = ports::interface_options(receive_queues);
        if !options.is_empty() {
            let named = vec![Condition::equal("name", interface)];
            let _ = self.transaction.set_map_keys("Interface", named, "options", &options);
        }
    }

    /// The local port of the bridge gets the VLAN and the MAC address; the kernel gives it the
    /// address.
    fn set_address(&mut self, operation: usize, action: &Action<'_>) {
        let Action::SetAddress { uplink, bridge, address } = action else { return };
        let name = bridge.as_str();
        let owner = BridgeOwner::Uplink((*uplink).clone());
        let owned = vec![Condition::equal("name", name), tags::carries(tags::bridge_value(&owner))];
        self.guard(operation, OpError::BridgeMissing { bridge: name.to_owned() }, "Bridge", owned.clone());
        let port = vec![Condition::equal("name", name)];
        self.guard(operation, OpError::PortMissing { port: PortName::observed(name) }, "Port", port.clone());
        let tagging = address.map_or(Tagging::Untagged, UplinkAddress::tagging);
        let transaction = &mut self.transaction;
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
}
