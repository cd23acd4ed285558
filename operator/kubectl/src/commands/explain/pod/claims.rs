//! The interfaces of a pod by its resource claims: rows, and the cause of each that is not
//! attached. Pure.

use super::context::Context;
use super::row::{Row, state};
use super::{Cause, attachment, definition, last_resort, placement, scheduling};
use crate::commands::explain::finding::Finding;
use crate::commands::names::nearest;
use crate::commands::pods::report::{ClaimedPort, PodClaimed, claims_of};
use crate::model::selection::Selected;
use crate::model::{Claim, Objects, Pod, Snapshot};

/// The checks of a port of a claim.
const CAUSES: [Cause; 8] = [
    definition::namespace_not_selected,
    definition::rejected_network,
    definition::deleted_network,
    placement::node_not_selected,
    placement::engine,
    placement::network_failed,
    placement::agent,
    placement::pending,
];

/// Returns the rows of a pod's claims, and the causes of those that have a problem.
pub(super) fn rows(snapshot: &Snapshot, pod: &Pod) -> Vec<(Row, Option<Finding>)> {
    let mut rows = Vec::new();
    for claimed in claims_of(snapshot, pod) {
        match claimed.claim {
            None => rows.push(without_claim(snapshot, pod, &claimed)),
            Some(claim) => match unknown_class(snapshot, &claimed) {
                Some(found) => {
                    let found = found.of(format!("{} ({})", claimed.label, claim.name));
                    rows.push((Row::unknown(&claimed.label, state(false, None, Some(&found))), Some(found)));
                }
                None => rows.extend(claimed.ports().iter().map(|port| of_port(snapshot, pod, port))),
            },
        }
    }
    rows
}

fn unknown_class(snapshot: &Snapshot, claimed: &PodClaimed<'_>) -> Option<Finding> {
    let claim = claimed.claim.filter(|claim| !claim.is_allocated)?;
    let class = scheduling::unknown_class(snapshot, claim.classes());
    class.map(|class| scheduling::missing_class(snapshot, class)).or_else(|| unknown_network(snapshot, claim))
}

/// A selector names a network that does not exist, so that no device matches.
fn unknown_network(snapshot: &Snapshot, claim: &Claim) -> Option<Finding> {
    let networks = &snapshot.cache.networks;
    let mut selected = claim.requests.iter().flat_map(|request| &request.networks);
    let name = selected.find(|name| !networks.contains_key(*name)).filter(|_| snapshot.has_read(Objects::Networks))?;
    let why = format!("a selector of the claim is for network {name}, which does not exist");
    let remedy = match nearest(name, networks.keys().map(String::as_str)) {
        Some(nearest) => format!("write {nearest} in the selector if that network was meant, and create the pod again"),
        None => format!("create network {name}, or correct the selector: kubectl get usn"),
    };
    Some(Finding::new("UnknownNetwork", why, remedy))
}

/// The claim does not exist, or could not be read.
fn without_claim(snapshot: &Snapshot, pod: &Pod, claimed: &PodClaimed<'_>) -> (Row, Option<Finding>) {
    let name = claimed.label.trim_start_matches("claim ");
    let listed = pod.claims.iter().find(|claim| claim.name == name);
    if !snapshot.has_read(Objects::Claims) || pod.has_ended() {
        return (Row::unknown(&claimed.label, "unknown".to_owned()), None);
    }
    let found = last_resort::claims(snapshot, pod).unwrap_or_else(|| match listed {
        Some(listed) if listed.template.is_none() => {
            let missing = listed.claim.as_deref().unwrap_or_default();
            let of_namespace = snapshot.claims.iter().filter(|claim| claim.namespace == pod.namespace);
            let nearest = nearest(missing, of_namespace.map(|claim| claim.name.as_str()));
            let remedy = match nearest {
                Some(nearest) => format!("write {nearest} in spec.resourceClaims of the pod if that was meant, or create ResourceClaim {missing}"),
                None => format!("create ResourceClaim {missing}, or correct its name in spec.resourceClaims of the pod"),
            };
            let why = format!("there is no ResourceClaim {}/{missing}", pod.namespace);
            Finding::new("ClaimMissing", why, remedy)
        }
        _ => {
            let template = listed.and_then(|listed| listed.template.as_deref()).unwrap_or_default();
            let why = format!("Kubernetes has not created the claim from ResourceClaimTemplate {}/{template} yet", pod.namespace);
            let remedy = "see that the template exists: kubectl get resourceclaimtemplates, and the events of the pod";
            Finding::new("ClaimMissing", why, remedy)
        }
    });
    let found = found.of(claimed.label.clone());
    (Row::unknown(&claimed.label, state(false, None, Some(&found))), Some(found))
}

fn of_port(snapshot: &Snapshot, pod: &Pod, port: &ClaimedPort) -> (Row, Option<Finding>) {
    let network = port.network.clone().unwrap_or_default();
    let element = Selected {
        namespace: pod.namespace.clone(),
        name: network.clone(),
        interface: port.interface.clone(),
        ips: Vec::new(),
    };
    let context = Context::of_network(snapshot, pod, &element, Some(network).filter(|it| !it.is_empty()));
    let context = Context { socket: port.socket.clone(), ..context };
    let found = match &port.attached {
        Some(_) => placement::engine_of_attached(&context).or_else(|| attachment::degraded(&context)),
        None if pod.has_ended() => None,
        None => CAUSES
            .iter()
            .find_map(|cause| cause(&context))
            .or_else(|| last_resort::claims(snapshot, pod))
            .map(|found| found.of(port.source.clone())),
    };
    let program = port.attached.is_some().then(|| context.program());
    let state = state(port.attached.is_some(), program, found.as_ref());
    (Row::of(&context, port.source.clone(), state), found)
}
