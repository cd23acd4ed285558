//! Whether what is observed is as desired already. The drivers use it, too: an operation without a
//! difference is none.

use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::port::{DesiredPort, PortBridge};
use crate::model::uplink::DesiredUplink;
use usnet_crds::conditions::message::node::{bridge_of_network, bridge_of_uplink};
use usnet_crds::{MacLearning, NetworkName, Ownership};

/// Why a network cannot adopt a bridge; `None` if it can.
pub fn adoption_blocker(actual: Option<&ObservedBridge>, network: &NetworkName) -> Option<String> {
    let Some(actual) = actual else { return Some("it does not exist".to_owned()) };
    match &actual.owner {
        Some(BridgeOwner::Uplink(uplink)) => Some(bridge_of_uplink(uplink)),
        Some(BridgeOwner::Network(other)) if other != network => Some(bridge_of_network(other)),
        _ => actual.adoption_blocker.clone(),
    }
}

/// Whether a bridge needs no update.
pub fn bridge_matches(actual: &ObservedBridge, bridge: &DesiredBridge) -> bool {
    let settings_match = match bridge {
        DesiredBridge::Network { bridge, policy_zone, .. } => actual.settings.match_spec(bridge, *policy_zone),
        DesiredBridge::Uplink { .. } => actual.settings.mac_learning == MacLearning::Enabled,
    };
    actual.has_supported_datapath && settings_match
}

/// Whether a bridge has the owner that a port on it needs.
pub(super) fn is_owned_for(actual: &ObservedBridge, bridge: &PortBridge) -> bool {
    bridge.ownership == Ownership::Adopted || actual.owner.as_ref() == Some(&bridge.owner)
}

/// Whether a port has its owner and is what it should be. What can be changed in place may differ.
pub fn is_port(actual: &ObservedPort, port: &DesiredPort) -> bool {
    let is_as_desired = || {
        let is_enabled = actual.settings.is_enabled || port.is_enabled_by_creation();
        is_enabled && actual.settings.match_desired(&port.settings)
    };
    actual.owner.as_ref().is_some_and(|owner| port.owner.covers(owner))
        && actual.backend.as_ref() == Some(&port.backend)
        && (port.is_changed_in_place() || is_as_desired())
}

/// Whether a port needs no update.
pub(super) fn port_matches(actual: &ObservedPort, port: &DesiredPort) -> bool {
    is_port(actual, port) && actual.settings.match_desired(&port.settings) && actual.settings.is_enabled
}

/// The ends of a port that are there, each on the bridge that it should be on.
pub(super) fn found<'a>(
    port: &'a DesiredPort,
    observed: &'a Observed,
) -> impl Iterator<Item = (&'a DesiredPort, &'a ObservedPort)> {
    port.ends().filter_map(|end| {
        let ports = match &end.bridge {
            Some(bridge) => {
                let actual = observed.bridges.get(bridge.name.as_str());
                &actual.filter(|actual| is_owned_for(actual, bridge))?.ports
            }
            None => &observed.unbridged_ports,
        };
        Some((end, ports.get(&end.name)?))
    })
}

/// Whether an engine has a port, with the other one of a pair, and it needs no update.
pub fn has_port(port: &DesiredPort, observed: &Observed) -> bool {
    found(port, observed).filter(|(end, actual)| port_matches(actual, end)).count() == port.ends().count()
}

/// Whether an engine has the address of this node on an uplink, or has none where none is desired.
pub fn has_address(uplink: &DesiredUplink, observed: &Observed) -> bool {
    match (&uplink.address, observed.addresses.get(&uplink.name)) {
        (Some(address), Some(found)) => address.matches(found),
        (None, None) => true,
        _ => false,
    }
}

/// Whether a network that is desired has this bridge.
pub(super) fn is_desired_bridge(desired: &Desired, bridge: &str, network: &NetworkName) -> bool {
    desired.networks.get(network).is_some_and(|spec| spec.bridge.name.as_str() == bridge)
}
