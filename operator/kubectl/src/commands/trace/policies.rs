//! What the policies of both namespaces say of a connection: those of the sender about connections
//! of its pods, those of the receiver about connections to its pods. Nodes enforce them by the same
//! rules. Pure.

use super::connection::Target;
use super::facts::{Endpoint, Facts};
use super::path::Path;
use super::report::Conclusion;
use crate::model::{Objects, Snapshot};
use std::net::IpAddr;
use usnet_crds::policy::verdict::{Connection, allowing, is_isolated};
use usnet_crds::policy::{Direction, Policy};

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
    let is_for = |policy: &&usnet_crds::CompiledPolicySpec| {
        policy.networks.iter().any(|network| network.as_str() == facts.network)
    };
    let policies: Vec<Policy> =
        snapshot.policies.iter().filter(is_for).map(usnet_crds::CompiledPolicySpec::policy).collect();
    for (endpoint, direction) in [(&facts.from, Direction::Egress), (&facts.to, Direction::Ingress)] {
        if !is_isolated(&policies, &endpoint.pod.namespace, direction) {
            path.passed(endpoint.node(), format!("no policy restricts {}", connections(endpoint, direction)));
            continue;
        }
        match target {
            Some(target) => add_verdicts(path, facts, (endpoint, direction), &policies, target),
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

/// One step for each family in which both pods have an address.
fn add_verdicts(
    path: &mut Path,
    facts: &Facts<'_>,
    (endpoint, direction): (&Endpoint<'_>, Direction),
    policies: &[Policy],
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
        match allowing(policies, &endpoint.pod.namespace, direction, &connection) {
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
