//! Adds tags to rows of the legacy userspace CNI, if they are as they were read. Nothing but
//! external_ids changes.

use super::batch::Batch;
use crate::engine::error::OpError;
use crate::engine::ovs::plan_op::TaggedRow;
use crate::engine::ovs::tags;
use crate::model::bridge::DesiredBridge;
use crate::model::port::DesiredPort;
use std::collections::{BTreeMap, BTreeSet};
use usnet_ovsdb::{Condition, Mutation, Uuid, Value};

impl Batch {
    pub(super) fn tag_port(
        &mut self,
        operation: usize,
        port: &DesiredPort,
        found: &TaggedRow,
        (interface, kind, options): &(Uuid, String, BTreeMap<String, String>),
    ) {
        let changed = OpError::Foreign { what: format!("port {}", port.name) };
        let as_read =
            vec![Condition::uuid(*interface), Condition::equal("type", kind.as_str()), equal("options", options)];
        self.guard(operation, changed.clone(), "Interface", as_read);
        if let Some(bridge) = port.bridge_name() {
            let on_bridge = vec![Condition::equal("name", bridge.as_str()), Condition::includes("ports", found.row)];
            self.guard(operation, OpError::PortMissing { port: port.name.clone() }, "Bridge", on_bridge);
        }
        self.add_tag(operation, ("Port", found), changed, tags::port_value(&port.owner), Vec::new());
    }

    pub(super) fn tag_bridge(
        &mut self,
        operation: usize,
        bridge: &DesiredBridge,
        found: &TaggedRow,
        ports: &BTreeSet<Uuid>,
    ) {
        let changed = OpError::Foreign { what: format!("bridge {}", bridge.name()) };
        let with_ports = vec![Condition::equal("ports", Value::set(ports.iter().copied()))];
        self.add_tag(operation, ("Bridge", found), changed, tags::bridge_value(&bridge.owner()), with_ports);
    }

    fn add_tag(
        &mut self,
        operation: usize,
        (table, TaggedRow { row, external_ids }): (&'static str, &TaggedRow),
        changed: OpError,
        tag: Value,
        conditions: Vec<Condition>,
    ) {
        let as_read = vec![Condition::uuid(*row), equal("external_ids", external_ids)];
        self.guard(operation, changed, table, as_read.into_iter().chain(conditions).collect());
        self.mutate(table, *row, Mutation::insert("external_ids", tag));
    }
}

fn equal(column: &'static str, texts: &BTreeMap<String, String>) -> Condition {
    Condition::equal(column, Value::map(texts.iter().map(|(key, value)| (key.as_str(), value.as_str()))))
}
