//! Verifies that ovs-vswitchd applied what the database recorded. Pure, except for adding queries
//! to a transaction.

use crate::engine::error::{EngineError, OpError};
use crate::engine::ovs::observe::{bridge_state, interface_state};
use crate::engine::ovs::ports;
use crate::model::observed::ElementState;
use crate::plan::Op;
use std::collections::BTreeMap;
use usnet_crds::{BridgeName, PortType};
use usnet_ovsdb::{Bridge, Condition, Interface, OpenVswitch, Reply, RowsIndex, TableRow, Transaction};

/// For more names than this, whole tables are read.
const NAMES_QUERIED_ONE_BY_ONE: usize = 8;

/// Only the columns that are needed: reading all columns of a thousand rows would take longer than
/// the switch takes to apply them.
const BRIDGE_COLUMNS: [&str; 2] = ["name", "datapath_id"];
const INTERFACE_COLUMNS: [&str; 3] = ["name", "ofport", "error"];
const ROOT_COLUMNS: [&str; 2] = ["dpdk_version", "iface_types"];

pub(super) struct Queries {
    bridges: Vec<RowsIndex<Bridge>>,
    interfaces: Vec<RowsIndex<Interface>>,
    open_vswitch: RowsIndex<OpenVswitch>,
}

/// The state that the switch reports, by name.
pub(super) struct Answers {
    bridges: BTreeMap<String, Bridge>,
    interfaces: BTreeMap<String, Interface>,
    unusable_port_types: BTreeMap<PortType, String>,
}

/// The bridge and the interfaces that must run after an operation.
fn expected_to_run(operation: &Op) -> (Option<&str>, Vec<&str>) {
    match operation {
        // A port that is taken over may be one that did not run before.
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::TakeOverPort { .. } | Op::Routing(_) => {
            (None, Vec::new())
        }
        Op::CreateBridge { bridge } | Op::TakeOverBridge { bridge } | Op::UpdateBridge { bridge } => {
            (Some(bridge.name().as_str()), vec![bridge.name().as_str()])
        }
        // The state of a bond's NICs is that of the uplink: one that does not run does no harm.
        Op::CreatePort { port } | Op::UpdatePort { port } if port.backend.is_bond() => (None, Vec::new()),
        Op::CreatePort { port } => (None, port.ends().map(|port| port.name.as_str()).collect()),
        Op::UpdatePort { port } => (None, vec![port.name.as_str()]),
        Op::SetAddress { bridge, .. } => (None, bridge.iter().map(BridgeName::as_str).collect()),
    }
}

impl Queries {
    /// Adds the queries for what these operations create or update.
    pub(super) fn add_to(transaction: &mut Transaction, operations: &[&Op]) -> Self {
        let (bridges, interfaces): (Vec<_>, Vec<_>) =
            operations.iter().map(|operation| expected_to_run(operation)).unzip();
        Self {
            bridges: select(transaction, &BRIDGE_COLUMNS, &bridges.into_iter().flatten().collect::<Vec<_>>()),
            interfaces: select(transaction, &INTERFACE_COLUMNS, &interfaces.concat()),
            open_vswitch: transaction.select_columns(Vec::new(), ROOT_COLUMNS),
        }
    }

    pub(super) fn answers(&self, reply: &Reply) -> Result<Answers, EngineError> {
        Ok(Answers {
            bridges: by_name(reply, &self.bridges, |bridge: &Bridge| &bridge.name)?,
            interfaces: by_name(reply, &self.interfaces, |interface: &Interface| &interface.name)?,
            unusable_port_types: reply.rows(self.open_vswitch)?.first().map(ports::unusable_types).unwrap_or_default(),
        })
    }
}

fn select<T: TableRow>(transaction: &mut Transaction, columns: &[&'static str], names: &[&str]) -> Vec<RowsIndex<T>> {
    if names.len() > NAMES_QUERIED_ONE_BY_ONE {
        return vec![transaction.select_columns(Vec::new(), columns.iter().copied())];
    }
    let of_name = |name: &&str| vec![Condition::equal("name", *name)];
    names.iter().map(|name| transaction.select_columns(of_name(name), columns.iter().copied())).collect()
}

fn by_name<T: TableRow>(
    reply: &Reply,
    selected: &[RowsIndex<T>],
    name: fn(&T) -> &String,
) -> Result<BTreeMap<String, T>, EngineError> {
    let mut rows = BTreeMap::new();
    for index in selected {
        rows.extend(reply.rows(*index)?.into_iter().map(|row| (name(&row).clone(), row)));
    }
    Ok(rows)
}

impl Answers {
    /// Why the switch cannot have the port of an operation, where that is not about this one: its
    /// own error would only name a call that failed.
    fn unusable(&self, operation: &Op) -> Option<&str> {
        let Op::CreatePort { port } = operation else { return None };
        port.owner.attachment()?;
        self.unusable_port_types.get(&port.backend.port_type()?).map(String::as_str)
    }

    /// Verifies that the switch runs what an operation creates or updates.
    pub(super) fn verify(&self, operation: &Op) -> Result<(), OpError> {
        let refused = |reason: &str| Err(OpError::Refused { what: operation.subject(), reason: reason.to_owned() });
        let (bridge, interfaces) = expected_to_run(operation);
        let row = |name: &str| self.interfaces.get(name);
        let mut interfaces = interfaces.into_iter();
        let state = match (bridge, interfaces.next()) {
            (None, None) => return Ok(()),
            (Some(name), interface) => {
                self.bridges.get(name).map(|bridge| bridge_state(bridge, interface.and_then(row)))
            }
            (None, Some(first)) => {
                let mut states = [first].into_iter().chain(interfaces).map(|name| row(name).map(interface_state));
                states.find(|state| *state != Some(ElementState::Running)).unwrap_or(Some(ElementState::Running))
            }
        };
        match state {
            Some(ElementState::Running) => Ok(()),
            Some(state) => {
                let error = state.error().unwrap_or("no error, but it does not run");
                refused(self.unusable(operation).unwrap_or(error))
            }
            None => refused("no error, but another client removed it"),
        }
    }
}
