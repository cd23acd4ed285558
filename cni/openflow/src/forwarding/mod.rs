//! The forwarding of bridges in OpenFlow 1.0: their flows and the configuration of their ports. A
//! bridge that forwards like a learning switch has one flow, whose action is `NORMAL`; the switch
//! itself adds it with each change of its configuration, and removes nothing.
//!
//! `message` and `answer` do no IO; all functions here do, with a deadline.

pub mod answer;
mod connection;
mod message;
mod port_config;

pub use port_config::{Flooding, PortConfig};

use crate::{OpenFlowError, PortNumber};
use connection::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The way in which a bridge forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forwarding {
    /// Whether the bridge has the flow of a learning switch, and no other.
    pub is_normal: bool,
    /// Whether any flow forwards like a learning switch.
    pub has_normal: bool,
}

/// Reads the flows of a bridge.
pub fn look(socket: &Path, timeout: Duration) -> Result<Forwarding, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let is_normal = connection.is_normal()?;
    Ok(Forwarding { is_normal, has_normal: is_normal || connection.has_normal()? })
}

/// Makes a bridge a learning switch again, unless it is one.
pub fn restore(socket: &Path, timeout: Duration) -> Result<(), OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    if connection.is_normal()? { Ok(()) } else { connection.set_normal() }
}

/// Returns those of the given ports that the bridge does not have in its datapath: the switch could
/// not configure them.
pub fn missing_ports(
    socket: &Path,
    timeout: Duration,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<String>, OpenFlowError> {
    let ports = Connection::open(socket, timeout)?.ports()?;
    let present: BTreeSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    Ok(names.iter().filter(|name| !present.contains(name.as_str())).cloned().collect())
}

/// Sets of these ports whether they get what is flooded: broadcasts, and frames whose receiver is
/// not known. It goes with the process of the switch. Returns how many ports were otherwise.
pub fn set_flooding(
    socket: &Path,
    timeout: Duration,
    ports: &BTreeMap<PortNumber, bool>,
) -> Result<usize, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let wrong = |port: PortConfig| {
        let is_flooded = *ports.get(&PortNumber::new(port.number)?)?;
        (port.is_flooded() != is_flooded).then_some((port, is_flooded))
    };
    let wrong: Vec<(PortConfig, bool)> = connection.ports()?.into_iter().filter_map(wrong).collect();
    if !wrong.is_empty() {
        connection.set_flooding(&wrong)?;
    }
    Ok(wrong.len())
}

/// Opens those of the given ports that are down, or that neither receive, flood nor send. Returns
/// the names of the ports that are open then. A port whose device is gone stays closed.
pub fn open_ports(
    socket: &Path,
    timeout: Duration,
    names: &BTreeSet<String>,
    flooding: Flooding,
) -> Result<BTreeSet<String>, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let is_closed = |port: &PortConfig| !port.is_open(flooding) && names.contains(&port.name);
    let closed: Vec<PortConfig> = connection.ports()?.into_iter().filter(is_closed).collect();
    if closed.is_empty() {
        return Ok(BTreeSet::new());
    }
    for port in &closed {
        match connection.open_port(port, flooding) {
            Ok(()) | Err(OpenFlowError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let open = connection.ports()?.into_iter().filter(|port| port.is_open(flooding));
    let closed: BTreeSet<&str> = closed.iter().map(|port| port.name.as_str()).collect();
    Ok(open.map(|port| port.name).filter(|name| closed.contains(name.as_str())).collect())
}
