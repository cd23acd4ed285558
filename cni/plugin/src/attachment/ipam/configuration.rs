//! With which configuration the IPAM plugin of an attachment is called. IO: reads what the agent
//! allows.

use super::error::IpamError;
use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::{Configuration, Target};
use serde_json::Value;
use usnet_crds::names::fnv1a;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::definition_ipam::{DefinitionIpam, NotAllowed};
use usnet_dataplane::network_file::NetworkFile;

/// Longest name of a pool, in bytes: host-local names a folder after it.
const POOL_NAME_MAX: usize = 255;

/// The configuration for the IPAM plugin: with the network's `ipam` or, if it has none, that of the
/// network configuration. None if there are no addresses to assign.
///
/// IPAM plugins keep a separate address store per configuration name. A network with its own IPAM
/// can be joined by network configurations of any name, and must not assign an address twice, so
/// the network's name is used there.
///
/// # Errors
/// When the network configuration's `ipam` is not allowed on this node.
pub fn configuration_for(
    node: &Node,
    configuration: &Configuration,
    target: &Target,
    network: (&NetworkName, Option<&NodeNetwork>),
) -> Result<Option<Value>, Error> {
    let (network_name, network) = network;
    if let Some(ipam) = network.and_then(|network| network.ipam.as_ref()) {
        return Ok(Some(configuration.for_ipam(network_name.as_str(), ipam)));
    }
    let Some(own) = configuration.ipam()? else { return Ok(None) };
    let name = configuration.name()?;
    check_allowed(node, &own)?;
    let pool = match target {
        Target::Bridge(_) if is_legacy_pool(node, name) => name.to_owned(),
        Target::Bridge(_) | Target::Network(_) => pool_name(network_name, name),
    };
    Ok(Some(configuration.for_ipam(&pool, &own)))
}

fn check_allowed(node: &Node, ipam: &Value) -> Result<(), Error> {
    let policy = DefinitionIpam::read(&node.roots).map_err(Error::DefinitionIpam)?;
    let Some(parts) = ipam.as_object() else { return Err(IpamError::NoType.into()) };
    let plugin = parts.get("type").and_then(Value::as_str).ok_or(IpamError::NoType)?;
    Ok(policy.check(parts).map_err(|problem| match problem {
        NotAllowed::Plugin => {
            IpamError::PluginNotAllowed { plugin: plugin.to_owned(), allowed: policy.plugins.into_iter().collect() }
        }
        NotAllowed::Key(key) => IpamError::KeyNotAllowed(key),
    })?)
}

/// The pool of a network configuration with its own IPAM. It cannot be that of a network, whose
/// name has no dot. All network configurations of one name share it on one network, from whichever
/// namespace they are used: their pods must not get one address twice.
fn pool_name(network: &NetworkName, name: &str) -> String {
    let pool = format!("{network}.{name}");
    if pool.len() <= POOL_NAME_MAX { pool } else { format!("{network}.{:016x}", fnv1a(name.as_bytes())) }
}

/// Whether the pool of a legacy configuration has its plain name, as with Intel's plugin: the pods
/// that were attached before that plugin was replaced hold addresses there. Not if it is, or could
/// be, the pool of another network.
fn is_legacy_pool(node: &Node, name: &str) -> bool {
    let network = name.parse().ok().and_then(|name| node.networks.read(&name).ok().flatten());
    let has_ipam = |file| matches!(file, NetworkFile::Programmed(programmed) if programmed.network.ipam.is_some());
    !name.contains('.') && !network.is_some_and(has_ipam)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_configuration_yields_the_pool_of_a_network_or_a_name_that_is_too_long() {
        let blue = "blue".parse().unwrap();
        assert_eq!(pool_name(&blue, "mine"), "blue.mine");
        let names = ["green", "a".repeat(250).as_str(), "a".repeat(251).as_str()].map(|name| pool_name(&blue, name));
        assert!(
            names.iter().all(|pool| pool.len() <= POOL_NAME_MAX && pool.parse::<NetworkName>().is_err()),
            "{names:?}"
        );
        assert_ne!(names[1], names[2]);
    }
}
