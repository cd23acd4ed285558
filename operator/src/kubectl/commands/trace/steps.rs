//! From facts to steps and a conclusion. Pure.

use super::between::between;
use super::ends::{end, network_on_node};
use super::facts::Facts;
use super::report::{Conclusion, Report};
use super::way::Way;
use crate::kubectl::model::{Pod, Snapshot};

/// The way between two ends of a network.
pub(super) fn report(snapshot: &Snapshot, facts: &Facts<'_>) -> Report {
    let mut way = Way::default();
    network_on_node(&mut way, snapshot, &facts.network, &facts.from);
    if !facts.is_on_one_node() {
        network_on_node(&mut way, snapshot, &facts.network, &facts.to);
    }
    end(&mut way, &facts.from, true);
    between(&mut way, snapshot, facts);
    end(&mut way, &facts.to, false);
    let (steps, conclusion) = way.end();
    Report {
        from: facts.from.name(),
        to: facts.to.name(),
        network: Some(facts.network.clone()),
        conclusion,
        steps,
        not_read: snapshot.gaps.clone(),
    }
}

/// Two pods that are in no network together.
pub(super) fn no_common_network(snapshot: &Snapshot, [from, to]: [&Pod; 2], networks: &[String; 2]) -> Report {
    let [of_from, of_to] = networks;
    let why = format!(
        "{} has {of_from}, {} has {of_to}: no packets pass between networks without a gateway, whose way is not traced",
        from.reference(),
        to.reference()
    );
    let mut way = Way::default();
    let remedy = "select one network in the annotation k8s.v1.cni.cncf.io/networks of both pods, or connect their networks by gateways";
    way.fails("", "a network that both pods select", Conclusion::new("NetworksDiffer", why, remedy));
    let (steps, conclusion) = way.end();
    Report {
        from: from.reference(),
        to: to.reference(),
        network: None,
        conclusion,
        steps,
        not_read: snapshot.gaps.clone(),
    }
}
