//! Deletion of a port of the legacy userspace CNI: named after the container, of one of two
//! interface types, on the bridge of its configuration.

use crate::engine::error::EngineError;
use crate::engine::ovs::legacy_tags::foreign_key;
use crate::engine::ovs::ports::{VHOST_USER_CLIENT, VHOST_USER_SERVER};
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use usnet_ovsdb::{Bridge, Condition, Database, Error, Mutation, Port, Transaction, Value};

/// Deletes a port of the legacy plugin, if it is on the given bridge.
pub(in crate::engine::ovs) async fn remove_legacy_port(
    database: &mut impl Database,
    LegacyPortLocation { bridge, port, .. }: LegacyPortLocation<'_>,
) -> Result<LegacyPort, EngineError> {
    let Some(snapshot) = OvsSnapshot::read_port(database, port).await? else { return Ok(LegacyPort::Absent) };
    let Some(found) = snapshot.port(port) else { return Ok(LegacyPort::Absent) };
    let bridge = match find_legacy_bridge(&snapshot, bridge, found) {
        Ok(bridge) => bridge,
        Err(found) => return Ok(LegacyPort::Foreign { found }),
    };
    let mut transaction = Transaction::new();
    // Fails if the port was changed since it was read.
    let external_ids = found.external_ids.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    transaction.require_row(
        "Port",
        vec![Condition::uuid(found.uuid), Condition::equal("external_ids", Value::map(external_ids))],
    );
    let on_bridge = vec![Condition::uuid(bridge.uuid)];
    let _ = transaction.mutate("Bridge", on_bridge, vec![Mutation::delete("ports", found.uuid)]);
    let _ = transaction.bump_next_cfg();
    match database.transact(&transaction).await {
        Ok(_) => Ok(LegacyPort::Absent),
        Err(Error::Transaction { .. }) => {
            Ok(LegacyPort::Foreign { found: format!("port {port} was changed by another client at the same time") })
        }
        Err(error) => Err(error.into()),
    }
}

/// The bridge of a port, if the legacy plugin can have created the port; otherwise what it is.
fn find_legacy_bridge<'a>(snapshot: &'a OvsSnapshot, bridge: Option<&str>, port: &Port) -> Result<&'a Bridge, String> {
    let name = &port.name;
    let mut bridges = snapshot.bridges.values().filter(|on| on.ports.contains(&port.uuid));
    let Some(on) = bridges.find(|on| bridge.is_none_or(|known| on.name == known)) else {
        return Err(format!("port {name} is not on bridge {}", bridge.unwrap_or("of any name")));
    };
    let Some(interface) = snapshot.interface_of(port) else { return Err(format!("port {name} is a bond")) };
    let kind = &interface.interface_type;
    if ![VHOST_USER_SERVER, VHOST_USER_CLIENT].contains(&kind.as_str()) {
        return Err(format!("port {name} on bridge {} is of type {kind:?}", on.name));
    }
    for external_ids in [&port.external_ids, &interface.external_ids] {
        if let Some(key) = foreign_key(external_ids) {
            return Err(format!(
                "port {name} on bridge {} has external_ids:{key}, which the legacy plugin does not set",
                on.name
            ));
        }
    }
    Ok(on)
}
