//! The configuration with which the IPAM plugin of an attachment is called. IO: reads the plugins
//! and keys that the agent allows.

use super::error::IpamError;
use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::{Configuration, Target};
use serde_json::Value;
use usnet_crds::NetworkName;
use usnet_crds::names::fnv1a;
use usnet_dataplane::definition_ipam::{DefinitionIpam, NotAllowed};
use usnet_dataplane::network_file::NetworkFile;

/// The maximum length of a pool's name, in bytes: host-local names a folder after the pool.
const POOL_NAME_MAX: usize = 255;
/// The maximum length of the name of a pool of whereabouts, in bytes: an object of Kubernetes is
/// named after the pool and a range.
const POOL_OBJECT_MAX: usize = 200;
/// The IPAM plugin whose pools are not named after the configuration.
const WHEREABOUTS: &str = "whereabouts";
/// The key of `ipam` that names a pool of whereabouts. Without the key the pool is named after the
/// range, and all configurations with this range share it.
const WHEREABOUTS_POOL: &str = "network_name";

/// A network, with its IPAM configuration as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct NetworkIpam<'a> {
    pub network: &'a NetworkName,
    pub ipam: Option<&'a Value>,
}

/// The configuration for the IPAM plugin: with the network's `ipam` or, if it has none, that of the
/// network configuration. None if there are no addresses to assign.
///
/// IPAM plugins keep a separate address store per configuration name. A network with its own IPAM
/// can be joined by network configurations of any name, and must not assign an address twice, so
/// the network's name is used there.
///
/// # Errors
/// The `ipam` of the network configuration is not allowed on this node.
pub fn configuration_for(
    node: &Node,
    configuration: &Configuration,
    target: &Target,
    NetworkIpam { network, ipam }: NetworkIpam<'_>,
) -> Result<Option<Value>, Error> {
    if let Some(ipam) = ipam {
        return Ok(Some(configuration.for_ipam(network.as_str(), ipam)));
    }
    let Some(own) = configuration.ipam()? else { return Ok(None) };
    let name = configuration.name()?;
    check_allowed(node, &own)?;
    let pool = match target {
        Target::Bridge(_) if is_legacy_pool(node, name) => name.to_owned(),
        Target::Bridge(_) | Target::Network(_) => pool_name(network, name),
    };
    Ok(Some(configuration.for_ipam(&pool, &in_own_pool(own, network, name))))
}

/// Whether two calls of an IPAM plugin for one attachment request the same. They may be of
/// different releases, so that the name of the pool is not compared: it follows from the network
/// and the configuration.
pub fn is_same_request(one: &Value, other: &Value) -> bool {
    let without_pool = |request: &Value| {
        let mut request = request.clone();
        if let Some(ipam) = request.pointer_mut("/ipam").and_then(Value::as_object_mut) {
            ipam.retain(|key, _| !key.eq_ignore_ascii_case(WHEREABOUTS_POOL));
        }
        request
    };
    one == other || without_pool(one) == without_pool(other)
}

/// Replaces the pool of whereabouts by a pool of this network. If the author names a pool, all
/// configurations that name it share it on this network.
fn in_own_pool(mut ipam: Value, network: &NetworkName, name: &str) -> Value {
    let Some(parts) = ipam.as_object_mut() else { return ipam };
    let plugin = parts.iter().find(|(key, _)| key.eq_ignore_ascii_case("type")).and_then(|(_, value)| value.as_str());
    if plugin != Some(WHEREABOUTS) {
        return ipam;
    }
    let is_pool = |key: &str| key.eq_ignore_ascii_case(WHEREABOUTS_POOL);
    let named = parts.iter().find(|(key, _)| is_pool(key)).and_then(|(_, value)| value.as_str());
    let pool = pool_object(network, named.filter(|named| !named.is_empty()).unwrap_or(name));
    // Plugins in Go match keys case-insensitively, and would find two.
    parts.retain(|key, _| !is_pool(key));
    parts.insert(WHEREABOUTS_POOL.to_owned(), pool.into());
    ipam
}

/// The name of a pool, like [`pool_name`], as the name of an object of Kubernetes. Names that
/// differ stay different.
fn pool_object(network: &NetworkName, name: &str) -> String {
    let pool = format!("{network}.{name}");
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(is_inner) && !part.starts_with('-') && !part.ends_with('-');
    if pool.len() <= POOL_OBJECT_MAX && pool.split('.').all(is_part) {
        return pool;
    }
    format!("{network}.{:016x}.hash", fnv1a(name.as_bytes()))
}

fn check_allowed(node: &Node, ipam: &Value) -> Result<(), Error> {
    let policy = DefinitionIpam::read(&node.paths).map_err(Error::DefinitionIpam)?;
    let Some(parts) = ipam.as_object() else { return Err(IpamError::NoType.into()) };
    let plugin = parts.get("type").and_then(Value::as_str).ok_or(IpamError::NoType)?;
    Ok(policy.check(parts).map_err(|problem| match problem {
        NotAllowed::Plugin => {
            IpamError::PluginNotAllowed { plugin: plugin.to_owned(), allowed: policy.plugins.into_iter().collect() }
        }
        NotAllowed::Key(key) => IpamError::KeyNotAllowed(key),
    })?)
}

/// The pool of a network configuration with its own IPAM. It cannot be the pool of a network, whose
/// name has no dot. All network configurations of one name share it on one network, in whichever
/// namespace they are used: their pods must not get one address twice.
fn pool_name(network: &NetworkName, name: &str) -> String {
    let pool = format!("{network}.{name}");
    if pool.len() <= POOL_NAME_MAX { pool } else { format!("{network}.{:016x}", fnv1a(name.as_bytes())) }
}

/// Whether the pool of a legacy configuration has the plain name of the configuration, as with
/// Intel's plugin: the pods that were attached before that plugin was replaced hold addresses
/// there. It has not if that is, or could be, the pool of another network.
fn is_legacy_pool(node: &Node, name: &str) -> bool {
    let network = name.parse().ok().and_then(|name| node.networks.read(&name).ok().flatten());
    // The IPAM of a network that is not programmed now is not known.
    let may_have_ipam =
        |file| !matches!(file, NetworkFile::Programmed(programmed) if programmed.network.ipam.is_none());
    !name.contains('.') && !network.is_some_and(may_have_ipam)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn a_configuration_with_whereabouts_has_a_pool_of_its_own_network() {
        let blue = "blue".parse().unwrap();
        let named = |ipam: Value, name: &str| in_own_pool(ipam, &blue, name);
        let range = json!({"type": "whereabouts", "range": "10.0.0.0/24"});
        let pool = |ipam: Value, name: &str| named(ipam, name)["network_name"].as_str().unwrap().to_owned();
        assert_eq!(pool(range.clone(), "mine"), "blue.mine");
        let asked = json!({"type": "whereabouts", "Network_Name": "corp", "range": "10.0.0.0/24"});
        let answered = named(asked, "mine");
        let expected = json!({"type": "whereabouts", "network_name": "blue.corp", "range": "10.0.0.0/24"});
        assert_eq!(answered, expected, "not the pool that network corp has");
        let long = "a".repeat(250);
        let names = ["corp", "Corp", "CORP", "a_b", "a..b", ".", "a.", "-a", &long, "mine.x"];
        let pools: BTreeSet<String> = names.into_iter().map(|name| pool(range.clone(), name)).collect();
        assert_eq!(pools.len(), names.len(), "{pools:?}");
        let is_object = |pool: &String| {
            let part = |part: &str| part.parse::<NetworkName>().is_ok() || part.len() > 50;
            pool.len() <= POOL_OBJECT_MAX && pool.split('.').count() > 1 && pool.split('.').all(part)
        };
        assert!(pools.iter().all(is_object), "{pools:?}");
        let other = json!({"type": "static", "network_name": "corp"});
        assert_eq!(named(other.clone(), "mine"), other);
        assert!(is_same_request(
            &json!({"name": "a", "ipam": range}),
            &json!({"name": "a", "ipam": named(range.clone(), "a")})
        ));
        assert!(!is_same_request(
            &json!({"name": "a", "ipam": range}),
            &json!({"name": "a", "ipam": {"type": "static"}})
        ));
    }

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
