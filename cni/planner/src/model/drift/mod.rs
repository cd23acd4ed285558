//! Drift of one attachment's port from its desired state, as text for users.

use crate::model::observed::{ElementState, Observed, ObservedPort};
use crate::model::port::{DesiredPort, PortBackend};
use usnet_crds::BridgeName;

/// The differences between the observed and the desired port of an attachment; empty if there are
/// none.
pub fn describe_drift(desired: &DesiredPort, observed: &Observed) -> Vec<String> {
    let on_bridges = observed
        .bridges
        .iter()
        .flat_map(|(bridge, actual)| actual.ports.iter().map(move |(name, port)| (Some(bridge.as_str()), name, port)));
    let unbridged_ports = observed.unbridged_ports.iter().map(|(name, port)| (None, name, port));
    let is_owned = |port: &ObservedPort| port.owner.as_ref().is_some_and(|owner| desired.owner.covers(owner));
    let desired_bridge = desired.bridge_name().map_or("none", BridgeName::as_str);
    let Some((bridge, name, actual)) = on_bridges.chain(unbridged_ports).find(|(_, _, port)| is_owned(port)) else {
        return vec![format!(
            "the engine has no port for this attachment (expected port {} on bridge {desired_bridge})",
            desired.name
        )];
    };
    let mut drift = Vec::new();
    let mut compare = |what: &str, is: String, should: String| {
        if is != should {
            drift.push(format!("{what} of port {name} is {is} and should be {should}"));
        }
    };
    compare("the bridge", bridge.unwrap_or("none").to_owned(), desired_bridge.to_owned());
    compare("the endpoint", describe_backend(actual.backend.as_ref()), describe_backend(Some(&desired.backend)));
    for difference in actual.settings.differences(&desired.settings) {
        compare(difference.setting, difference.observed, difference.desired);
    }
    if !actual.settings.is_enabled {
        drift.push(format!("port {name} is administratively down"));
    }
    if let Some(reason) = actual.state.error() {
        drift.push(format!("the engine cannot run port {name}: {reason}"));
    } else if actual.state == ElementState::Pending {
        drift.push(format!("the engine does not run port {name} yet"));
    }
    drift
}

fn describe_backend(backend: Option<&PortBackend>) -> String {
    backend.map_or_else(|| "of a type that usnet does not create".to_owned(), PortBackend::to_string)
}

#[cfg(test)]
mod tests;
