//! Whether what is observed is as desired already. The drivers use it, too: an operation without a
//! difference is none.

use crate::model::observed::{BridgeMtu, ObservedBridge, ObservedPort, Tagging};
use crate::model::port::PortSettings;
use usnet_crds::conditions::message::node::bridge_of_network;
use usnet_crds::{Bridge, NetworkName};

/// Why a network cannot adopt a bridge; `None` if it can.
pub(crate) fn adoption_blocker(actual: Option<&ObservedBridge>, network: &NetworkName) -> Option<String> {
    let Some(actual) = actual else { return Some("it does not exist".to_owned()) };
    match &actual.owner {
        Some(other) if other != network => Some(bridge_of_network(other)),
        _ => actual.adoption_blocker.clone(),
    }
}

/// Whether a bridge needs no update.
pub(crate) fn bridge_matches_spec(actual: &ObservedBridge, bridge: &Bridge) -> bool {
    let mtu = match actual.mtu {
        BridgeMtu::OfPortsOnly => true,
        BridgeMtu::Unset => false,
        BridgeMtu::Set(mtu) => mtu == i64::from(bridge.mtu),
    };
    let age = actual.mac_age_seconds == Some(bridge.mac_age_seconds.into());
    mtu && age && actual.mac_learning == bridge.mac_learning && actual.has_supported_datapath
}

/// Whether a port needs no update.
pub(crate) fn port_matches_spec(actual: &ObservedPort, settings: &PortSettings) -> bool {
    actual.mtu == Some(settings.mtu.into())
        && actual.tagging == Tagging::from(settings.vlan.clone())
        && actual.rate_limit == Some(settings.rate_limit)
}
