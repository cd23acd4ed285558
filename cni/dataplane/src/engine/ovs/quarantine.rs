//! New ports of bridges with policies, to which nothing may be flooded (IO).
//!
//! A bridge floods to a port as soon as it has it, and that it does not (`NO_FLOOD`) can be said of
//! a port with a number alone. So a new port is in a VLAN of its own until then: its row is created
//! with that, and changed when the bridge does not flood to it any more. Where that is interrupted,
//! the VLAN of the port is not the one of its record, and the agent changes it in the same order.

use super::channels::OvsChannels;
use super::guarded::{self, PolicyTag};
use super::port_settings;
use super::snapshot::OvsSnapshot;
use super::tags;
use crate::engine::error::{EngineError, OpError};
use crate::model::port::DesiredPort;
use crate::plan::Op;
use std::collections::BTreeSet;
use usnet_ovsdb::{Bridge, Condition, Database, Row, RowsIndex, Transaction, Value};

/// IEEE 802.1Q reserves it: no frame of a network is in it, and no port that usnet configures.
const VLAN: i64 = 4095;

/// The bridges with policies among those that ports of pods are created on.
pub(super) async fn bridges(database: &mut impl Database, operations: &[Op]) -> Result<BTreeSet<String>, EngineError> {
    let created = operations.iter().filter_map(|operation| match operation {
        Op::CreatePort { port } if port.settings.guard.is_some() => port.bridge.as_ref(),
        _ => None,
    });
    with_policies(database, &created.map(|bridge| bridge.name.as_str()).collect()).await
}

/// Those of these bridges that have policies.
pub(super) async fn with_policies(
    database: &mut impl Database,
    bridges: &BTreeSet<&str>,
) -> Result<BTreeSet<String>, EngineError> {
    if bridges.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut transaction = Transaction::new();
    let named = |name: &&str| vec![Condition::equal("name", *name)];
    let selected: Vec<RowsIndex<Bridge>> =
        bridges.iter().map(|name| transaction.select_columns(named(name), ["name", "external_ids"])).collect();
    let reply = database.transact(&transaction).await?;
    let mut found = BTreeSet::new();
    for index in selected {
        let rows = reply.rows(index)?.into_iter().filter(|row| guarded::policy_tag(row) != PolicyTag::None);
        found.extend(rows.map(|bridge| bridge.name));
    }
    Ok(found)
}

/// The columns of a new port, which is in no VLAN of its network.
pub(super) fn begin(columns: Row) -> Row {
    columns.with("tag", VLAN).with("vlan_mode", Value::empty()).with("trunks", Value::empty())
}

/// Whether the row of a port is as by [`begin`].
pub(super) fn is_waiting(snapshot: &OvsSnapshot, port: &DesiredPort) -> bool {
    snapshot.port(port.name.as_str()).is_some_and(|row| row.tag.map(i64::from) == Some(VLAN))
}

/// Has the bridge not flood to a port, if its row is as by [`begin`]. Returns whether it is.
pub(super) async fn stop_flooding(
    channels: &mut impl OvsChannels,
    port: &DesiredPort,
) -> Result<Result<bool, OpError>, EngineError> {
    let name = port.name.as_str();
    let Some(snapshot) = OvsSnapshot::read_port(channels.database(), name).await? else { return Ok(Ok(false)) };
    match guarded::port_named(&snapshot, name).filter(|_| is_waiting(&snapshot, port)) {
        Some((bridge, number, _)) => Ok(channels.stop_flooding(&bridge.name, number).await.map(|()| true)),
        None => Ok(Ok(false)),
    }
}

/// Puts a port into the VLAN that it is to have, once nothing is flooded to it.
pub(super) async fn end(
    channels: &mut impl OvsChannels,
    port: &DesiredPort,
) -> Result<Result<(), OpError>, EngineError> {
    match stop_flooding(channels, port).await? {
        Ok(true) => set_vlan(channels.database(), port).await.map(Ok),
        other => Ok(other.map(drop)),
    }
}

/// Puts a port to which nothing is flooded into the VLAN that it is to have.
pub(super) async fn set_vlan(database: &mut impl Database, port: &DesiredPort) -> Result<(), EngineError> {
    let owned = vec![Condition::equal("name", port.name.as_str()), tags::carries(tags::port_value(&port.owner))];
    let mut transaction = Transaction::new();
    let _ = transaction.update("Port", owned, port_settings::port_columns(&port.settings));
    let _ = transaction.bump_next_cfg();
    database.transact(&transaction).await?;
    Ok(())
}
