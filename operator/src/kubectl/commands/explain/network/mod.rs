//! Why a network is not Ready, reaches no node or no pod, or cannot be deleted.

mod causes;

use super::finding::{Parts, Report};
use crate::kubectl::model::Snapshot;
use crate::kubectl::model::places::places;
use usnet_crds::conditions::{READY, find};

/// The explanation of a network that exists.
pub(crate) fn report(snapshot: &Snapshot, name: &str) -> Report {
    let places = places(snapshot, name);
    let network = snapshot.cache.networks.get(name);
    let ready = network.and_then(|network| find(&network.status.as_ref()?.conditions, READY));
    let state = ready.map_or_else(
        || "no controller has seen it yet".to_owned(),
        |ready| format!("Ready={} ({}), {}", ready.status, ready.reason, ready.message),
    );
    let row = |place: &crate::kubectl::model::places::Place<'_>| {
        let (state, reason) = place.state(snapshot);
        let [pods, connected] = place.report.map_or([0, 0], |report| [report.attachments, report.connected]);
        [place.node.to_owned(), state.to_owned(), pods.to_string(), connected.to_string(), reason]
    };
    let parts =
        Parts { heads: ["NODE", "STATE", "INTERFACES", "CONNECTED", "REASON"], rows: places.iter().map(row).collect() };
    let findings = network.map(|network| causes::causes(snapshot, (name, network), &places)).unwrap_or_default();
    Report { subject: format!("network {name}"), state, parts, findings, not_read: snapshot.gaps.clone() }
}

#[cfg(test)]
mod tests;
