//! Drift of one attachment's port from its desired state, as text for users.

use crate::model::attachment::AttachmentId;
use crate::model::desired::DesiredAttachment;
use crate::model::observed::{ElementState, Observed, ObservedPort};
use crate::model::port::PortBackend;
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::RateLimit;

/// The differences between the observed and the desired port of an attachment; empty if there are
/// none.
pub fn describe_drift(id: &AttachmentId, desired: &DesiredAttachment, observed: &Observed) -> Vec<String> {
    let on_bridges = observed
        .bridges
        .iter()
        .flat_map(|(bridge, actual)| actual.ports.iter().map(move |(name, port)| (Some(bridge.as_str()), name, port)));
    let unbridged_ports = observed.unbridged_ports.iter().map(|(name, port)| (None, name, port));
    let is_owned = |port: &ObservedPort| port.owner.as_ref().is_some_and(|owner| owner.matches(&desired.network, id));
    let Some((bridge, name, actual)) = on_bridges.chain(unbridged_ports).find(|(_, _, port)| is_owned(port)) else {
        return vec![format!(
            "the engine has no port for this attachment (expected port {} on bridge {})",
            desired.port.name, desired.port.bridge
        )];
    };
    let mut drift = Vec::new();
    let mut compare = |what: &str, is: String, should: String| {
        if is != should {
            drift.push(format!("{what} of port {name} is {is} and should be {should}"));
        }
    };
    let settings = &desired.port.settings;
    compare("the bridge", bridge.unwrap_or("none").to_owned(), desired.port.bridge.to_string());
    compare("the endpoint", describe_backend(actual.backend.as_ref()), describe_backend(Some(&desired.port.backend)));
    compare("the MTU", actual.mtu.map_or_else(|| "unset".to_owned(), |mtu| mtu.to_string()), settings.mtu.to_string());
    compare("the VLAN", tagging(&actual.tagging), tagging(&Tagging::from(settings.vlan.clone())));
    compare("the rate limit", rate_limit(actual.rate_limit), rate_limit(Some(settings.rate_limit)));
    compare("the routed addresses", addresses(&actual.routed), addresses(&settings.routed));
    if !actual.is_enabled {
        drift.push(format!("port {name} is administratively down"));
    }
    match &actual.state {
        ElementState::Running => {}
        ElementState::Pending => drift.push(format!("the engine does not run port {name} yet")),
        ElementState::Failed(reason) => drift.push(format!("the engine cannot run port {name}: {reason}")),
    }
    drift
}

fn describe_backend(backend: Option<&PortBackend>) -> String {
    backend.map_or_else(|| "of a type that usnet does not create".to_owned(), PortBackend::to_string)
}

fn tagging(tagging: &Tagging) -> String {
    match tagging {
        Tagging::Untagged => "none".to_owned(),
        Tagging::Vlan(vlan) => vlan.to_string(),
        Tagging::OnlyUntagged | Tagging::UntaggedAndTrunk(_) | Tagging::Other => {
            "a value that usnet does not set".to_owned()
        }
    }
}

fn rate_limit(limit: Option<RateLimit>) -> String {
    limit.map_or_else(|| "a value that usnet does not set".to_owned(), |limit| limit.to_string())
}

fn addresses(all: &BTreeSet<IpAddr>) -> String {
    if all.is_empty() {
        return "none".to_owned();
    }
    all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests;
