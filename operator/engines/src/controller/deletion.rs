//! Which pods of users keep an engine that is to be deleted. Pure.

use super::observed::Observed;
use std::collections::BTreeSet;
use usnet_crds::EngineKind;

/// Most pods in a message.
const NAMED_MAX: usize = 10;

/// The pods that are attached to the engine on these nodes: how many interfaces, and some by name.
pub(super) fn attached(observed: &Observed, engine: EngineKind, nodes: &BTreeSet<String>) -> (i64, Vec<String>) {
    let is_of_engine = |network: &str| {
        // A network that is gone may still have pods: they are of either engine.
        observed.networks.by_name.get(network).is_none_or(|network| network.spec.engine == engine)
    };
    let states = nodes.iter().filter_map(|node| observed.nodes.by_name.get(node)?.status.as_ref());
    let reports = states.flat_map(|status| &status.networks).filter(|report| is_of_engine(&report.name));
    let (mut number, mut pods) = (0_i64, BTreeSet::new());
    for report in reports {
        number = number.saturating_add(report.attachments);
        pods.extend(report.pods.iter().cloned());
    }
    (number, pods.into_iter().take(NAMED_MAX).collect())
}
