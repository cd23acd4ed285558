//! The progress of an uplink on the nodes that it selects.

use crate::cache::Uplink;
use crate::status::selected_nodes::{NodeView, SelectedNodes};
use crate::status::tally::{NodeProgress, Tally};
use usnet_crds::ValidUplink;
use usnet_crds::conditions::reason::ENGINE_UNREACHABLE;
use usnet_crds::uplink::report::{UplinkReport, UplinkState};

/// Counts the nodes. An uplink that is not valid is on the nodes that have an earlier form of it,
/// which is not known here.
pub(super) fn tally(nodes: &SelectedNodes<'_>, name: &str, uplink: &Uplink) -> Tally {
    let Ok(valid) = &uplink.spec else { return Tally::default() };
    let selected = nodes.all().iter().filter(|view| is_selected(view, valid));
    selected.map(|view| (view.name, progress(*view, name, valid))).collect()
}

/// The reports of reachable nodes whose uplink works in part, with the names of the nodes.
pub(super) fn degraded<'a>(nodes: &SelectedNodes<'a>, name: &str, uplink: &Uplink) -> Vec<(&'a str, &'a UplinkReport)> {
    let Ok(valid) = &uplink.spec else { return Vec::new() };
    let report = |view: &NodeView<'a>| {
        let status = view.state.filter(|state| state.is_observed() && view.node.is_ready)?.status.as_ref()?;
        let report = status.uplinks.get(name).filter(|report| report.generation >= uplink.generation)?;
        let is_degraded = report.state == UplinkState::Programmed && !report.reason.is_empty();
        is_degraded.then_some((view.name, report))
    };
    nodes.all().iter().filter(|view| is_selected(view, valid)).filter_map(report).collect()
}

fn is_selected(view: &NodeView<'_>, uplink: &ValidUplink) -> bool {
    uplink.nic(&view.node.labels, view.missing()).is_some()
}

fn progress<'a>(view: NodeView<'a>, name: &str, uplink: &ValidUplink) -> NodeProgress<'a> {
    if !view.node.is_ready {
        return NodeProgress::Unreachable;
    }
    let observed = view.state.filter(|state| state.is_observed());
    let Some(status) = observed.and_then(|state| state.status.as_ref()) else { return NodeProgress::Pending };
    if let Some(message) = status.down.get(&uplink.engine) {
        return NodeProgress::Failed { reason: ENGINE_UNREACHABLE, message };
    }
    match status.uplinks.get(name).filter(|report| report.generation >= uplink.generation) {
        None => NodeProgress::Pending,
        Some(report) => match report.state {
            UplinkState::Programmed => NodeProgress::Programmed,
            UplinkState::Pending => NodeProgress::Pending,
            UplinkState::Failed => NodeProgress::Failed { reason: &report.reason, message: &report.message },
        },
    }
}
