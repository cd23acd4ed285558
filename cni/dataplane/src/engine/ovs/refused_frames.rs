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
use usnet_openflow::flow::{Cookie, CookieFilter};
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

/// Why a flow drops frames of or to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A pod claims to be another one.
    Forged,
    /// Policies do not allow what a pod sends.
    Sent,
    /// Policies do not allow what is sent to a pod.
    Received,
}

impl Refusal {
    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forged => "anti_spoofing",
            Self::Sent => "policy_egress",
            Self::Received => "policy_ingress",
        }
    }

    /// `None` of a flow that drops no frames of or to a port.
    fn of(flow: &InstalledFlow) -> Option<(PortNumber, Self)> {
        if let Some((port, direction)) = policy::refused(flow) {
            let is_sent = direction == Direction::Egress;
            return Some((port, if is_sent { Self::Sent } else { Self::Received }));
        }
        let port = guard::port_of(flow.cookie).filter(|_| flow.instructions.is_drop())?;
        Some((port, Self::Forged))
    }
}

/// The frames that each flow of a bridge has dropped since it was written. Table, priority and
/// cookie tell flows apart.
pub type Drops = BTreeMap<(u8, u16, Cookie), (Refusal, u64)>;

/// Returns what these flows have dropped.
#[must_use]
pub fn drops(flows: &[InstalledFlow]) -> Drops {
    let dropped = |flow: &InstalledFlow| {
        let (_, refusal) = Refusal::of(flow)?;
        Some(((flow.table, flow.priority, flow.cookie), (refusal, flow.packets)))
    };
    flows.iter().filter_map(dropped).collect()
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
    for flow in flows(guard::cookies())?.iter().chain(&flows(policy::cookies())?) {
        let Some((number, refusal)) = Refusal::of(flow) else { continue };
        let frames = refused.entry(number).or_default();
        let count = match refusal {
            Refusal::Forged => &mut frames.forged,
            Refusal::Sent => &mut frames.sent,
            Refusal::Received => &mut frames.received,
        };
        *count += flow.packets;
    }
    Ok(refused)
}
