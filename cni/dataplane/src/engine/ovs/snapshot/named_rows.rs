//! The rows that a few operations need, by name: a switch may have hundreds of other ports, and the
//! plugin would read all of them to remove one.

use super::OvsSnapshot;
use crate::engine::error::EngineError;
use crate::engine::ovs::bonds;
use crate::engine::ovs::tags;
use crate::model::owner::PortOwner;
use crate::model::port::PortName;
use crate::plan::Op;
use std::collections::BTreeMap;
use usnet_ovsdb::{Bridge, Condition, Database, Interface, OpenVswitch, Port, Qos, RowsIndex, TableRow, Transaction};

/// For more operations than this, one answer with all rows is faster.
const OPERATIONS_MAX: usize = 8;
/// The column of a bridge with its ports, which is not read.
pub(super) const PORTS: &str = "ports";

/// Where the rows of one operation are in a reply.
struct Selected<'a> {
    operation: &'a Op,
    bridges: RowsIndex<Bridge>,
    ports: RowsIndex<Port>,
    interfaces: Vec<RowsIndex<Interface>>,
    limits: RowsIndex<Qos>,
}

/// Whether [`read`] can be tried for these operations.
pub(super) fn are_few(operations: &[&Op]) -> bool {
    operations.len() <= OPERATIONS_MAX && operations.iter().all(|operation| names(operation).is_some())
}

/// The bridge, the port and its owner that an operation is about, if those rows suffice.
fn names(operation: &Op) -> Option<(&str, &PortName, &PortOwner)> {
    match operation {
        Op::RemovePort { bridge: Some(bridge), port, owner, .. } => Some((bridge, port, owner)),
        // Of a bond there are the interfaces of its members.
        Op::CreatePort { port } if port.backend.is_bond() => None,
        Op::CreatePort { port } if port.pair.is_none() => Some((port.bridge_name()?.as_str(), &port.name, &port.owner)),
        _ => None,
    }
}

/// The rows that these operations need; `None` if more is needed.
///
/// The ports of a bridge are not read. A port to remove is taken to be on its bridge: the
/// transaction has a guard for that. A port that exists already, and is to be created, needs all.
pub(super) async fn read(database: &mut impl Database, operations: &[&Op]) -> Result<Option<OvsSnapshot>, EngineError> {
    let mut transaction = Transaction::new();
    let open_vswitch = transaction.select_columns::<OpenVswitch>(Vec::new(), ["next_cfg"]);
    let selected: Vec<_> = operations.iter().filter_map(|operation| select(&mut transaction, operation)).collect();
    let reply = database.transact(&transaction).await?;
    let mut bridges: BTreeMap<_, Bridge> = BTreeMap::new();
    let (mut ports, mut interfaces, mut limits) = (Vec::new(), Vec::new(), Vec::new());
    for selected in &selected {
        let found = reply.rows(selected.ports)?;
        if !found.is_empty() && matches!(selected.operation, Op::CreatePort { .. }) {
            return Ok(None);
        }
        for row in reply.rows(selected.bridges)? {
            bridges.entry(row.uuid).or_insert(row).ports.extend(found.iter().map(|port| port.uuid));
        }
        ports.extend(found);
        for index in &selected.interfaces {
            interfaces.extend(reply.rows(*index)?);
        }
        limits.extend(reply.rows(selected.limits)?);
    }
    let open_vswitch = reply.rows(open_vswitch)?;
    let rows = OvsSnapshot::new(open_vswitch.first(), bridges.into_values().collect(), ports, interfaces)?;
    Ok(Some(rows.with_limits(limits)))
}

fn select<'a>(transaction: &mut Transaction, operation: &'a Op) -> Option<Selected<'a>> {
    let (bridge, port, owner) = names(operation)?;
    let of_name = |name: &str| vec![Condition::equal("name", name)];
    let bridge_columns = Bridge::TABLE.columns.iter().map(|column| column.name).filter(|column| *column != PORTS);
    let socket = match operation {
        Op::CreatePort { port } => {
            let interfaces = bonds::interfaces(port).unwrap_or_default();
            interfaces.into_iter().find_map(|(_, interface, _)| interface.exclusive_socket())
        }
        _ => None,
    };
    let interfaces = [Some(of_name(port.as_str())), socket.map(|(_, serves)| vec![serves])];
    Some(Selected {
        operation,
        bridges: transaction.select_columns(of_name(bridge), bridge_columns),
        ports: transaction.select_rows(of_name(port.as_str())),
        interfaces: interfaces.into_iter().flatten().map(|conditions| transaction.select_rows(conditions)).collect(),
        limits: transaction.select_rows(vec![tags::carries(tags::port_value(owner))]),
    })
}
