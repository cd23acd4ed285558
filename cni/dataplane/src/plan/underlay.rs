//! Addresses on uplinks and tunnels in a plan: what of them is there, and what stays.

use super::matching::tunnel_matches;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::NetworkTunnel;
use crate::model::port::PortName;
use crate::model::underlay::{DesiredTunnels, Tunnel};
use crate::model::uplink::DesiredUplink;

/// Whether the engine has the address of this node on an uplink, or has none where none is desired.
pub fn has_address(uplink: &DesiredUplink, observed: &Observed) -> bool {
    match (&uplink.address, observed.addresses.get(&uplink.name)) {
        (Some(address), Some(found)) => address.matches(found),
        (None, None) => true,
        _ => false,
    }
}

/// Whether a network has a tunnel to each peer.
pub fn has_tunnels(tunnels: &DesiredTunnels, observed: &Observed) -> bool {
    let bridge = observed.bridges.get(tunnels.bridge.as_str());
    let is_there = |tunnel: &Tunnel| {
        let port = bridge.and_then(|bridge| bridge.ports.get(&tunnel.name));
        port.is_some_and(|port| tunnel_matches(port, tunnel))
    };
    tunnels.iter().all(|tunnel| is_there(&tunnel))
}

/// Whether a tunnel stays on this bridge.
pub(super) fn tunnel_stays(
    desired: &Desired,
    (bridge, actual): (&str, &ObservedBridge),
    (name, port): (&PortName, &ObservedPort),
    NetworkTunnel { network, peer }: &NetworkTunnel,
) -> bool {
    let tunnels = desired.tunnels.get(network).filter(|tunnels| tunnels.peers.contains(peer));
    tunnels.map(|tunnels| tunnels.to(*peer)).is_some_and(|tunnel| {
        let is_its_bridge = tunnel.bridge.as_str() == bridge && actual.owner.as_ref() == Some(network);
        is_its_bridge && tunnel.name == *name && tunnel_matches(port, &tunnel)
    })
}
