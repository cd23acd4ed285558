//! The removal of a port that the older userspace CNI made: named after the container, of one of its two types, on the bridge that its configuration names.

use super::OpenVswitch;
use super::marks::{ATTACHMENT_KEY, NETWORK_KEY};
use super::observe::VHOST_USER_CLIENT;
use super::rows::Rows;
use crate::engine::EngineError;
use crate::older_port::OlderPort;
use std::collections::BTreeMap;
use usnet_ovsdb::{Bridge, Condition, Database, Error, Mutation, Port, Transaction, Value};

/// The type that listens, which Open vSwitch still has.
const VHOST_USER: &str = "dpdkvhostuser";
/// The original wrote no marks; its fork fivetime/userspace-cni writes these, with itself as the owner.
const OWNER_KEY: &str = "owner";
const OWNER: &str = "userspace-cni";
const FORK_KEYS: [&str; 4] = [OWNER_KEY, "container-id", "interface", "iface-id"];

impl<D: Database + Send> OpenVswitch<D> {
    /// Takes a port away that the older plugin made, if it is on the bridge that is known. The bridge stays, also when it was the last one.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn remove_older_port(&mut self, bridge: Option<&str>, port: &str) -> Result<OlderPort, EngineError> {
        let rows = self.read_rows().await?;
        let Some(found) = rows.port(port) else { return Ok(OlderPort::Gone) };
        let bridge = match is_older(&rows, bridge, found) {
            Ok(bridge) => bridge,
            Err(found) => return Ok(OlderPort::Foreign { found }),
        };
        let mut transaction = Transaction::new();
        // As it was looked at; who changed it meanwhile is heard.
        let marks = found.external_ids.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        transaction.require_row(
            "Port",
            vec![Condition::uuid(found.uuid), Condition::equal("external_ids", Value::map(marks))],
        );
        let on_bridge = vec![Condition::uuid(bridge.uuid)];
        let _ = transaction.mutate("Bridge", on_bridge, vec![Mutation::delete("ports", found.uuid)]);
        let _ = transaction.bump_next_cfg();
        match self.database.transact(&transaction).await {
            Ok(_) => Ok(OlderPort::Gone),
            Err(Error::Transaction { .. }) => {
                Ok(OlderPort::Foreign { found: format!("port {port} was changed by somebody else just now") })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The bridge of a port, if the older plugin can have made it; or what it is.
fn is_older<'a>(rows: &'a Rows, bridge: Option<&str>, port: &Port) -> Result<&'a Bridge, String> {
    let name = &port.name;
    let mut bridges = rows.bridges.values().filter(|on| on.ports.contains(&port.uuid));
    let Some(on) = bridges.find(|on| bridge.is_none_or(|known| on.name == known)) else {
        return Err(format!("port {name} is not on bridge {}", bridge.unwrap_or("of any name")));
    };
    let Some(interface) = rows.interface_of(port) else { return Err(format!("port {name} is a bond")) };
    let kind = &interface.interface_type;
    if ![VHOST_USER, VHOST_USER_CLIENT].contains(&kind.as_str()) {
        return Err(format!("port {name} on bridge {} is of type {kind:?}", on.name));
    }
    for marks in [&port.external_ids, &interface.external_ids] {
        if let Some(mark) = foreign_mark(marks) {
            return Err(format!("port {name} on bridge {} carries the mark {mark:?} of somebody else", on.name));
        }
    }
    Ok(on)
}

fn foreign_mark(external_ids: &BTreeMap<String, String>) -> Option<&String> {
    let is_fork = external_ids.get(OWNER_KEY).is_some_and(|owner| owner == OWNER);
    external_ids.keys().find(|key| {
        let is_ours = [ATTACHMENT_KEY, NETWORK_KEY].contains(&key.as_str());
        is_ours || !(is_fork && FORK_KEYS.contains(&key.as_str()))
    })
}
