//! Whether what is observed is as desired already. The drivers use it, too: an operation without a
//! difference is none.

use crate::model::observed::{ObservedBridge, ObservedPort};
use crate::model::owner::PortOwner;
use crate::model::port::{NetworkPort, PortSettings};
use crate::model::tagging::Tagging;
use crate::model::underlay::Tunnel;
use usnet_crds::conditions::message::node::{bridge_of_network, bridge_of_uplink};
use usnet_crds::{Bridge, NetworkName, RateLimit};

/// Why a network cannot adopt a bridge; `None` if it can.
pub(crate) fn adoption_blocker(actual: Option<&ObservedBridge>, network: &NetworkName) -> Option<String> {
    let Some(actual) = actual else { return Some("it does not exist".to_owned()) };
    if let Some(uplink) = &actual.uplink {
        return Some(bridge_of_uplink(uplink));
    }
    match &actual.owner {
        Some(other) if other != network => Some(bridge_of_network(other)),
        _ => actual.adoption_blocker.clone(),
    }
}

/// Whether a bridge needs no update.
pub(crate) fn bridge_matches_spec(actual: &ObservedBridge, bridge: &Bridge) -> bool {
    actual.has_supported_datapath && actual.settings.match_spec(bridge)
}

/// Whether the port of a network's own device is as it should be. Its MTU is that of the device.
pub(crate) fn network_port_matches(actual: &ObservedPort, port: &NetworkPort) -> bool {
    actual.owner.as_ref() == Some(&PortOwner::of_device(&port.device))
        && actual.backend.as_ref() == Some(&port.backend())
        && actual.mtu.is_none()
        && actual.tagging == Tagging::Untagged
        && actual.rate_limit == Some(RateLimit::default())
        && actual.is_enabled
}

/// Whether a port is this tunnel.
pub(crate) fn tunnel_matches(actual: &ObservedPort, tunnel: &Tunnel) -> bool {
    actual.owner.as_ref() == Some(&tunnel.owner())
        && actual.tunnel.as_ref() == Some(&tunnel.ends)
        && actual.tagging == Tagging::Untagged
        && actual.rate_limit == Some(RateLimit::default())
        && actual.is_enabled
}

/// Whether a port needs no update.
pub(crate) fn port_matches_spec(actual: &ObservedPort, settings: &PortSettings) -> bool {
    actual.mtu == Some(settings.mtu.into())
        && actual.tagging == Tagging::from(settings.vlan.clone())
        && actual.rate_limit == Some(settings.rate_limit)
        && actual.routed == settings.routed
}
