//! `usnet node status`.

use super::output::{Error, Output, document_text};
use crate::state_file::{StateFile, is_agent_running};
use std::fmt::Write;
use std::time::SystemTime;
use usnet_common::display::{age, table};
use usnet_crds::conditions::{READY, Status, find};
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_dataplane::paths::NodePaths;

/// Shows the agent's last report.
pub(super) fn render(paths: &NodePaths, output: Output) -> Result<(String, Health), Error> {
    let state = StateFile::read(paths)?.ok_or_else(|| Error::NoState(paths.state_file()))?;
    let is_running = is_agent_running(paths);
    let health = Health::of(&state, is_running);
    if let Some(text) = document_text(&state, output) {
        return Ok((text?, health));
    }
    let written = std::fs::metadata(paths.state_file()).and_then(|metadata| metadata.modified()).ok();
    let seconds =
        written.and_then(|written| SystemTime::now().duration_since(written).ok()).map_or(0, |age| age.as_secs());
    Ok((text(&state, is_running, seconds), health))
}

/// The health of the node, which the exit status reports to scripts: that of its agent and engines.
/// A network with a wrong spec is not programmed on any node, and no fault of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// The agent runs, and so do its engines.
    Ready,
    /// The agent runs, and it or one of its engines does not work.
    NotReady,
    /// The agent does not run, so that its report is out of date.
    NoAgent,
}

impl Health {
    fn of(state: &StateFile, is_running: bool) -> Self {
        let ready = find(&state.status.conditions, READY);
        match (is_running, ready.is_some_and(|ready| ready.status == Status::True.as_str())) {
            (false, _) => Self::NoAgent,
            (true, true) => Self::Ready,
            (true, false) => Self::NotReady,
        }
    }

    /// The exit status. 1 is for errors, and 2 for wrong options.
    pub(super) const fn exit_status(self) -> u8 {
        match self {
            Self::Ready => 0,
            Self::NotReady => 3,
            Self::NoAgent => 4,
        }
    }
}

/// Formats the report for users.
pub(super) fn text(state: &StateFile, is_running: bool, seconds: u64) -> String {
    let mut text = String::new();
    let source = match &state.manifests {
        Some(folder) => format!("the manifests in {}", folder.display()),
        None => "the API server".to_owned(),
    };
    let generation =
        state.status.observed_generation.map_or_else(|| "none yet".to_owned(), |number| number.to_string());
    let _ = writeln!(text, "Node {}, networks from {source}, generation {generation}", state.node);
    let since = age(seconds);
    let _ = match is_running {
        true => writeln!(text, "The agent is running; the last change was {since} ago."),
        false => writeln!(text, "The agent is not running. This is its last report, from {since} ago."),
    };
    let summary = &state.status.summary;
    let _ = writeln!(text, "{} networks programmed, {} attached interfaces", summary.networks, summary.attachments);
    if !summary.engines.is_empty() {
        let _ = writeln!(text, "Engines: {}", summary.engines);
    }
    if !summary.problem.is_empty() {
        let _ = writeln!(text, "Problem: {}", summary.problem);
    }
    text.push('\n');
    let conditions = state.status.conditions.iter().map(|condition| {
        [condition.type_.clone(), condition.status.clone(), condition.reason.clone(), condition.message.clone()]
    });
    text.push_str(&table(["CONDITION", "STATUS", "REASON", "MESSAGE"], &conditions.collect::<Vec<_>>()));
    if !state.status.networks.is_empty() {
        text.push('\n');
        let rows: Vec<_> = state.status.networks.iter().map(row).collect();
        text.push_str(&table(["NETWORK", "STATE", "GENERATION", "PODS", "CONNECTED", "REASON", "MESSAGE"], &rows));
    }
    if !state.status.uplinks.is_empty() {
        text.push('\n');
        let rows: Vec<_> = state.status.uplinks.iter().map(uplink_row).collect();
        text.push_str(&table(["UPLINK", "STATE", "GENERATION", "NIC", "REASON", "MESSAGE"], &rows));
    }
    if !state.manifest_problems.is_empty() {
        text.push_str("\nInvalid manifests; what they describe keeps its last valid state:\n");
        for problem in &state.manifest_problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    text
}

fn uplink_row(uplink: &UplinkReport) -> [String; 6] {
    let state = match uplink.state {
        UplinkState::Programmed => "Programmed",
        UplinkState::Pending => "Pending",
        UplinkState::Failed => "Failed",
    };
    let nic = match uplink.active_member.as_str() {
        "" => uplink.nic.clone(),
        active => format!("{} ({active} is active)", uplink.nic),
    };
    [
        uplink.name.clone(),
        state.to_owned(),
        uplink.generation.to_string(),
        nic,
        uplink.reason.clone(),
        uplink.message.clone(),
    ]
}

fn row(network: &NetworkReport) -> [String; 7] {
    let state = match network.state {
        NetworkState::Programmed => "Programmed",
        NetworkState::Pending => "Pending",
        NetworkState::Failed => "Failed",
        NetworkState::Draining => "Draining",
    };
    [
        network.name.clone(),
        state.to_owned(),
        network.generation.to_string(),
        network.attachments.to_string(),
        network.connected.to_string(),
        network.reason.clone(),
        network.message.clone(),
    ]
}
