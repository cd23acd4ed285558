//! Explains a UserspaceEngine: what it asks for, where it runs, what is wrong on which node, how
//! far an update is, and which pods keep a deletion.
//!
//! - [`spec`]: what it asks for, in sentences; [`nodes`]: how it is on each node that it selects;
//! - [`causes`]: what is wrong.

mod causes;
mod nodes;
mod spec;

use super::finding::{Parts, Report};
use crate::model::{Engine, Snapshot};
use nodes::{Placement, placements};
use usnet_crds::conditions::{READY, Status};

pub(crate) fn report(snapshot: &Snapshot, name: &str, engine: &Engine) -> Report {
    let placements = placements(snapshot, engine);
    let parts = Parts {
        heads: ["NODE", "STATE", "INTERFACES", "VERSION", "REASON"],
        rows: placements.iter().map(Placement::row).collect(),
    };
    Report {
        subject: format!("userspaceengine {name}"),
        state: state(engine),
        asks_for: spec::sentences(engine),
        parts,
        findings: causes::causes(snapshot, (name, engine), &placements),
        not_read: snapshot.unread.clone(),
        ..Report::default()
    }
}

fn state(engine: &Engine) -> String {
    let seen = engine.condition(READY).filter(|ready| ready.status != Status::Unknown.as_str());
    let Some(ready) = seen else { return "no controller has read it yet".to_owned() };
    let nodes = &engine.status.nodes;
    let summary = if nodes.summary.is_empty() { "0/0" } else { &nodes.summary };
    let deleting = if engine.is_deleting { ", being deleted" } else { "" };
    format!(
        "Ready={} ({}), runs on {summary} nodes, on {} with the current spec{deleting}",
        ready.status, ready.reason, nodes.updated
    )
}

#[cfg(test)]
mod tests;
