//! Explains why networks or pods do not work on a node, and how it has to be prepared for engines
//! that usnet runs: [`engines`].

mod causes;
mod engines;

use super::finding::{Parts, Report};
use crate::model::Snapshot;
use crate::output::count;
use usnet_crds::conditions::{NETWORKS_PROGRAMMED, READY, find};
use usnet_crds::node_state::{NetworkReport, NetworkState};

pub(crate) fn report(snapshot: &Snapshot, name: &str) -> Report {
    let status = snapshot.reports.get(name);
    let ready = status.and_then(|status| find(&status.conditions, READY));
    let state = ready.map_or_else(
        || "its agent has reported nothing".to_owned(),
        |ready| {
            let engines = status.map(|status| {
                status.engines.iter().map(|it| format!("{} {}", it.engine, it.version)).collect::<Vec<_>>()
            });
            let engines = engines
                .filter(|engines| !engines.is_empty())
                .map_or_else(|| "no engine".to_owned(), |it| it.join(", "));
            let networks = status.map_or(0, |status| status.networks.len());
            let programmed = status.and_then(|status| find(&status.conditions, NETWORKS_PROGRAMMED));
            let programmed =
                programmed.map(|it| format!("NetworksProgrammed={} ({}), ", it.status, it.reason)).unwrap_or_default();
            format!(
                "Ready={} ({}), {programmed}{engines}, {} with pods or a problem",
                ready.status,
                ready.reason,
                count(networks, "network")
            )
        },
    );
    let row = |report: &NetworkReport| {
        let state = match report.state {
            NetworkState::Programmed => "Programmed",
            NetworkState::Pending => "Pending",
            NetworkState::Failed => "Failed",
            NetworkState::Draining => "Draining",
        };
        let counts = [report.attachments, report.connected].map(|number| number.to_string());
        let [attachments, connected] = counts;
        [report.name.clone(), state.to_owned(), attachments, connected, report.reason.clone()]
    };
    let parts = Parts {
        heads: ["NETWORK", "STATE", "INTERFACES", "CONNECTED", "REASON"],
        rows: status.map(|status| status.networks.iter().map(row).collect()).unwrap_or_default(),
    };
    let findings = causes::causes(snapshot, name);
    let (preparation, not_read) = (engines::preparation(snapshot, name), snapshot.unread.clone());
    Report { subject: format!("node {name}"), state, parts, findings, preparation, not_read, ..Report::default() }
}

#[cfg(test)]
mod tests;
