//! Makes steps and a conclusion of the facts. Pure.

use super::connection::Target;
use super::endpoint::{add_endpoint, add_network};
use super::facts::Facts;
use super::network::add_bridges;
use super::path::Path;
use super::policies::add_policies;
use super::report::{Conclusion, Report};
use crate::model::{Pod, Snapshot};

/// Traces the path between two endpoints of a network, and asks the policies about a connection.
pub(super) fn report(snapshot: &Snapshot, facts: &Facts<'_>, target: Option<Target>) -> Report {
    let mut path = Path::default();
    add_network(&mut path, snapshot, &facts.network, &facts.from);
    if !facts.is_on_one_node() {
        add_network(&mut path, snapshot, &facts.network, &facts.to);
    }
    add_endpoint(&mut path, &facts.from, true);
    add_policies(&mut path, snapshot, facts, target);
    add_bridges(&mut path, snapshot, facts);
    add_endpoint(&mut path, &facts.to, false);
    let (steps, conclusion) = path.finish();
    Report {
        from: facts.from.name(),
        to: facts.to.name(),
        network: Some(facts.network.clone()),
        conclusion,
        steps,
        not_read: snapshot.unread.clone(),
    }
}

/// Reports that two pods have no network in common.
pub(super) fn no_common_network(snapshot: &Snapshot, [from, to]: [&Pod; 2], networks: &[String; 2]) -> Report {
    let [of_from, of_to] = networks;
    let why = format!(
        "{} has {of_from}, {} has {of_to}: no packets pass between networks without a gateway, and paths through gateways are not traced",
        from.reference(),
        to.reference()
    );
    let mut path = Path::default();
    let remedy = "select one network in the annotation k8s.v1.cni.cncf.io/networks of both pods, or connect their networks by gateways";
    path.failed("", "a network that both pods select", Conclusion::new("NetworksDiffer", why, remedy));
    let (steps, conclusion) = path.finish();
    Report {
        from: from.reference(),
        to: to.reference(),
        network: None,
        conclusion,
        steps,
        not_read: snapshot.unread.clone(),
    }
}
