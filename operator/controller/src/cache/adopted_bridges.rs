//! Networks that adopt one bridge. Agents decide which of them has it, because it depends on the
//! node; the network that has it says in its status which others are refused.

use super::cluster::Cache;
use super::objects::Network;
use usnet_crds::Ownership;
use usnet_crds::conditions::reason::BRIDGE_CONFLICT;
use usnet_crds::validate::ValidNetwork;

/// Whether a node has refused the network, because another one has its bridge.
pub(super) fn is_refused(network: &Network) -> bool {
    network.status.iter().flat_map(|status| &status.failures).any(|failure| failure.reason == BRIDGE_CONFLICT)
}

/// The other networks that adopt the bridge of this network.
pub(super) fn others<'a>(cache: &'a Cache, network: &Network) -> impl Iterator<Item = (&'a String, &'a Network)> {
    let bridge = adopted(network).map(|valid| (valid.engine, valid.bridge.name.clone(), valid.name.clone()));
    cache.networks.iter().filter(move |(_, other)| {
        let other = adopted(other);
        bridge.as_ref().zip(other).is_some_and(|((engine, bridge, name), other)| {
            (*engine, bridge) == (other.engine, &other.bridge.name) && *name != other.name
        })
    })
}

/// The networks that nodes have refused because this one has the bridge that both adopt.
pub fn refused_rivals<'a>(cache: &'a Cache, network: &Network) -> Vec<&'a str> {
    if is_refused(network) {
        return Vec::new();
    }
    let refused = others(cache, network).filter(|(_, other)| is_refused(other) && !other.is_deleting());
    refused.map(|(name, _)| name.as_str()).collect()
}

fn adopted(network: &Network) -> Option<&ValidNetwork> {
    network.spec.as_ref().ok().filter(|valid| valid.bridge.ownership == Ownership::Adopted)
}
