//! What decides whether a bridge forwards and is not in the database: its flows and the
//! configuration of its ports in OpenFlow 1.0, over the bridge's management socket
//! (`<bridge>.mgmt`, ovs-vswitchd(8)). A bridge that forwards as a switch that learns has one flow,
//! whose action is `NORMAL`; the switch itself adds it with each change of its configuration, and
//! removes nothing.
//!
//! [`message`] and [`answer`] are pure; [`Connection`] does the IO, with a deadline.

mod answer;
mod connection;
mod message;
mod port_config;

pub use connection::{Connection, OpenFlowError};
pub use port_config::PortConfig;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The management socket of a bridge, in the folder of the database's socket.
pub fn socket(folder: &Path, bridge: &str) -> PathBuf {
    folder.join(format!("{bridge}.mgmt"))
}

/// How a bridge forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forwarding {
    /// Whether it has the one flow of a switch that learns, and no other.
    pub is_normal: bool,
    /// Whether any of its flows forwards as a switch that learns.
    pub has_normal: bool,
}

/// Looks at the flows of a bridge.
///
/// # Errors
/// When the switch does not answer in time, or not in OpenFlow 1.0.
pub fn look(socket: &Path, timeout: Duration) -> Result<Forwarding, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let is_normal = connection.is_normal()?;
    Ok(Forwarding { is_normal, has_normal: is_normal || connection.has_normal()? })
}

/// Makes a bridge a switch that learns again, unless it is one.
///
/// # Errors
/// As [`look`], or the switch refuses it.
pub fn restore(socket: &Path, timeout: Duration) -> Result<(), OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    if connection.is_normal()? { Ok(()) } else { connection.set_normal() }
}

/// Opens those of these ports of a bridge that are down, or neither received from, flooded to nor
/// sent to; returns the names of those that then are open. One whose device is gone stays closed.
///
/// # Errors
/// As [`look`].
pub fn open_ports(
    socket: &Path,
    timeout: Duration,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<String>, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let is_closed = |port: &PortConfig| !port.is_open() && names.contains(&port.name);
    let closed: Vec<PortConfig> = connection.ports()?.into_iter().filter(is_closed).collect();
    if closed.is_empty() {
        return Ok(BTreeSet::new());
    }
    for port in &closed {
        match connection.open_port(port) {
            Ok(()) | Err(OpenFlowError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let open = connection.ports()?.into_iter().filter(PortConfig::is_open);
    let closed: BTreeSet<&str> = closed.iter().map(|port| port.name.as_str()).collect();
    Ok(open.map(|port| port.name).filter(|name| closed.contains(name.as_str())).collect())
}
