//! Explains why a network is not Ready, is on no node, has no pods, or cannot be deleted.

mod causes;

use super::finding::{Parts, Report};
use crate::model::Snapshot;
use crate::model::placements::{Placement, placements};
use usnet_crds::conditions::{READY, find};

pub(crate) fn report(snapshot: &Snapshot, name: &str) -> Report {
    let placements = placements(snapshot, name);
    let network = snapshot.cache.networks.get(name);
    let ready = network.and_then(|network| find(&network.status.as_ref()?.conditions, READY));
    let state = ready.map_or_else(
        || "no controller has read it yet".to_owned(),
        |ready| format!("Ready={} ({}), {}", ready.status, ready.reason, ready.message),
    );
    let row = |placement: &Placement<'_>| {
        let (state, reason) = placement.state(snapshot);
        let [pods, connected] = placement.report.map_or([0, 0], |report| [report.attachments, report.connected]);
        [placement.node.to_owned(), state.to_owned(), pods.to_string(), connected.to_string(), reason]
    };
    let parts = Parts {
        heads: ["NODE", "STATE", "INTERFACES", "CONNECTED", "REASON"],
        rows: placements.iter().map(row).collect(),
    };
    let findings = network.map(|network| causes::causes(snapshot, (name, network), &placements)).unwrap_or_default();
    let not_read = snapshot.unread.clone();
    Report { subject: format!("network {name}"), state, parts, findings, not_read, ..Report::default() }
}

#[cfg(test)]
mod tests;
