//! How many frames the flows of guarded bridges have dropped (IO).

use super::bridge_settings::SECURE;
use super::snapshot::OvsSnapshot;
use super::{guard, guarded, policy};
use crate::engine::blocking::poll_once;
use crate::engine::error::EngineError;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_crds::policy::Direction;
use usnet_openflow::flow::CookieFilter;
use usnet_openflow::{Connection, FlowFilter, InstalledFlow, OpenFlowError, PortNumber};
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Bridge, Condition, RowsIndex, Transaction};

/// Frames of or to a port that were dropped, since the flows that dropped them were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedFrames {
    /// Frames by which the pod claims to be another one.
    pub forged: u64,
    /// Frames of the pod that policies do not allow.
    pub sent: u64,
    /// Frames to the pod that policies do not allow.
    pub received: u64,
}

/// Reads the refused frames of the ports of all guarded bridges, by the names of the ports.
/// `socket` is that of the database.
pub fn read(socket: &Path, timeout: Duration) -> Result<BTreeMap<String, RefusedFrames>, EngineError> {
    let mut database = Client::connect(socket, timeout)?;
    let mut transaction = Transaction::new();
    let guarded: RowsIndex<Bridge> =
        transaction.select_columns(vec![Condition::includes("fail_mode", SECURE)], ["name"]);
    let mut refused = BTreeMap::new();
    // Most switches have no such bridge, and then nothing else is read.
    if database.transact(&transaction)?.rows(guarded)?.is_empty() {
        return Ok(refused);
    }
    let snapshot = poll_once(EngineKind::OpenVswitch, OvsSnapshot::read(&mut database))?;
    let folder = socket.parent().unwrap_or(Path::new("/"));
    for (bridge, ports) in guarded::names(&snapshot) {
        // The counters of other bridges are as good without it.
        let counted = of_bridge(&usnet_openflow::socket(folder, &bridge), timeout).unwrap_or_default();
        let named = counted.into_iter().filter_map(|(number, frames)| Some((ports.get(&number)?.clone(), frames)));
        refused.extend(named);
    }
    Ok(refused)
}

fn of_bridge(socket: &Path, timeout: Duration) -> Result<BTreeMap<PortNumber, RefusedFrames>, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let mut flows = |cookies: CookieFilter| connection.flows(&FlowFilter { cookies, ..FlowFilter::default() });
    let mut refused: BTreeMap<PortNumber, RefusedFrames> = BTreeMap::new();
    for flow in flows(guard::cookies())?.iter().filter(|flow| flow.instructions.is_drop()) {
        if let Some(number) = guard::port_of(flow.cookie) {
            refused.entry(number).or_default().forged += flow.packets;
        }
    }
    add_of_policies(&mut refused, &flows(policy::cookies())?);
    Ok(refused)
}

fn add_of_policies(refused: &mut BTreeMap<PortNumber, RefusedFrames>, flows: &[InstalledFlow]) {
    for flow in flows {
        let Some((number, direction)) = policy::refused(flow) else { continue };
        let frames = refused.entry(number).or_default();
        match direction {
            Direction::Egress => frames.sent += flow.packets,
            Direction::Ingress => frames.received += flow.packets,
        }
    }
}
