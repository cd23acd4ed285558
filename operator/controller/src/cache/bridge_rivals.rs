//! Networks of one engine whose bridges have the same name. Agents decide which of them has it.

use super::cluster::Cache;
use super::objects::Network;

/// The other networks that request the bridge of this network.
pub(super) fn rivals<'a>(cache: &'a Cache, network: &Network) -> impl Iterator<Item = (&'a String, &'a Network)> {
    let own = network.spec.as_ref().ok().map(|valid| (valid.engine, valid.bridge.name.clone(), valid.name.clone()));
    cache.networks.iter().filter(move |(_, other)| {
        own.as_ref().zip(other.spec.as_ref().ok()).is_some_and(|((engine, bridge, name), other)| {
            (*engine, bridge) == (other.engine, &other.bridge.name) && *name != other.name
        })
    })
}

/// Whether a network that is being deleted may still have the bridge of this network.
pub fn has_leaving_rival(cache: &Cache, network: &Network) -> bool {
    rivals(cache, network).any(|(_, rival)| rival.is_deleting())
}
