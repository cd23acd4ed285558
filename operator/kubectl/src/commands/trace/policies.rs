//! What the policies of both namespaces say of a connection: those of the sender about connections
//! of its pods, those of the receiver about connections to its pods. Nodes enforce them by the same
//! rules. Pure.

use super::connection::Target;
use super::facts::{Endpoint, Facts};
use super::path::Path;
use super::report::Conclusion;
use crate::model::{NetworkPolicies, Objects, Snapshot};
use std::net::IpAddr;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::PodClass;
use usnet_crds::policy::verdict::{Connection, allowing, is_isolated};

/// Adds a step for each side, if the network has policies.
pub(super) fn add_policies(path: &mut Path, snapshot: &Snapshot, facts: &Facts<'_>, target: Option<Target>) {
    let network = snapshot.cache.networks.get(&facts.network);
    let valid = network.and_then(|network| network.spec.as_ref().ok());
    if !valid.is_some_and(|valid| valid.policies.are_enabled()) {
        return;
    }
    if !snapshot.has_read(Objects::Policies) {
        return path.unknown("", format!("policies of network {}: CompiledPolicies were not read", facts.network));
    }
    let known = NetworkPolicies::of(snapshot, &facts.network);
    for (endpoint, direction) in [(&facts.from, Direction::Egress), (&facts.to, Direction::Ingress)] {
        let Some(class) = known.class(endpoint.pod) else { continue };
        if add_undecided(path, endpoint, &known, &class) {
            continue;
        }
        if !is_isolated(&known.policies, &class, direction) {
            path.passed(endpoint.node(), format!("no policy restricts {}", connections(endpoint, direction)));
            continue;
        }
        let side = Side { endpoint, direction, class: &class };
        match target {
            Some(target) => add_verdicts(path, facts, side, &known, target),
            None => path.unknown(
                endpoint.node(),
                format!(
                    "policies restrict {}: name a connection, such as tcp/80, to see whether it is allowed",
                    connections(endpoint, direction)
                ),
            ),
        }
    }
}

fn connections(endpoint: &Endpoint<'_>, direction: Direction) -> String {
    let preposition = match direction {
        Direction::Ingress => "to",
        Direction::Egress => "of",
    };
    format!("connections {preposition} {}", endpoint.name())
}

/// A pod whose port is closed, because it is not known which policies are for it. Returns whether
/// it is one.
fn add_undecided(path: &mut Path, endpoint: &Endpoint<'_>, known: &NetworkPolicies, class: &PodClass) -> bool {
    let undecided = known.undecided(class);
    if undecided.is_empty() {
        return false;
    }
    let policies = undecided.join(", ");
    let why = format!("it is not known yet whether {policies} select {} by its labels", endpoint.pod.reference());
    let remedy = "nodes report new pods within a second: see whether component policies and the agent of the node run";
    let what = format!("it is known which policies are for {}", endpoint.name());
    path.failed(endpoint.node(), what, Conclusion::new("PodNotClassified", why, remedy));
    true
}

/// One of the two sides of a connection.
#[derive(Clone, Copy)]
struct Side<'a> {
    endpoint: &'a Endpoint<'a>,
    direction: Direction,
    class: &'a PodClass,
}

/// One step for each family in which both pods have an address.
fn add_verdicts(
    path: &mut Path,
    facts: &Facts<'_>,
    Side { endpoint, direction, class }: Side<'_>,
    known: &NetworkPolicies,
    target: Target,
) {
    let pairs = address_pairs(facts);
    if pairs.is_empty() {
        let what = format!("policies for {}: its addresses are unknown", connections(endpoint, direction));
        return path.unknown(endpoint.node(), what);
    }
    for (source, destination) in pairs {
        let connection = Connection { source, destination, port: target.port() };
        let what = format!("{target} from {source} to {destination}");
        match allowing(&known.policies, class, direction, &connection, &known.addresses) {
            Some(policy) => {
                let policy = format!("policy {}/{}", policy.namespace, policy.name);
                path.passed(endpoint.node(), format!("{policy} allows {what}"));
            }
            None => {
                let why = format!(
                    "no policy of namespace {} allows {what}, and they restrict {}",
                    endpoint.pod.namespace,
                    connections(endpoint, direction)
                );
                let remedy = "kubectl usnet explain pod names the policies; events of each say what is not enforced";
                path.failed(
                    endpoint.node(),
                    format!("policies allow {what}"),
                    Conclusion::new("NotAllowed", why, remedy),
                );
            }
        }
    }
}

/// The first addresses of both pods in each family.
fn address_pairs(facts: &Facts<'_>) -> Vec<(IpAddr, IpAddr)> {
    let first = |endpoint: &Endpoint<'_>, is_ipv4: bool| {
        endpoint.port()?.addresses.iter().copied().find(|address| address.is_ipv4() == is_ipv4)
    };
    [true, false]
        .into_iter()
        .filter_map(|is_ipv4| Some((first(&facts.from, is_ipv4)?, first(&facts.to, is_ipv4)?)))
        .collect()
}
