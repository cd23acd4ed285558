//! Configurations of Intel's userspace CNI (intel/userspace-cni-network-plugin, and its fork
//! fivetime/userspace-cni), "legacy" in names, converted to our types; and the parser of the
//! `config` of a NetworkAttachmentDefinition.
//!
//! Each key is supported, rejected by name, or ignored: see `docs/userspace-cni.md`. Keys are
//! case-insensitive, as in Go's `encoding/json`, with which that plugin read them. Nothing that ADD
//! reads yields a path on the node: `logFile` and `kubeconfig` are not read at all, and a
//! `socketfile` is a file name or rejected. Pure, and except for the network that is made of a
//! configuration without Kubernetes types: the controller and the CNI plugin must interpret it in
//! the same way.

mod container_conf;
mod error;
mod host_conf;
mod keys;
mod node_file;
mod parse;
mod routed;
mod settings;
#[cfg(feature = "api")]
mod spec;
mod vlan;

pub use container_conf::ContainerConf;
pub use error::InvalidLegacy;
pub use host_conf::{HostConf, has_kubeconfig, plain_path, shared_dir};
pub use node_file::of_node_file;
pub use settings::{SettingMismatch, Settings};
#[cfg(feature = "api")]
pub use spec::{compiled_for_node, network_of};

use crate::{BridgeName, EngineKind, InvalidName, MacAddress, NetworkName};
use keys::Keys;
use serde_json::{Map, Value};

/// The value of `type`, the name of our CNI plugin and of Intel's.
pub const PLUGIN: &str = "userspace";
/// Longest `config` of a NetworkAttachmentDefinition that is parsed, in bytes. Usual ones have some
/// hundred; tenants can write megabytes.
pub const CONFIG_MAX: usize = 64 * 1024;
/// The versions of the CNI specification that our plugin speaks.
pub const CNI_VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];
/// How much of another version is repeated, in characters.
const VERSION_SHOWN_MAX: usize = 40;
/// The key of the network in our own configurations.
pub const NETWORK_KEY: &str = "network";

/// A parsed configuration for our plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NadConfig {
    /// It names a network.
    Network(NetworkName),
    /// A configuration of Intel's userspace CNI, which names a bridge.
    Legacy(Box<Legacy>),
}

/// Why a configuration for our plugin is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNadConfig {
    /// It is not JSON, so that its plugin is unknown.
    #[error("it is not a JSON object")]
    NotJson,
    /// It is longer than any valid configuration.
    #[error("it has {0} bytes, and {CONFIG_MAX} is the limit")]
    TooLong(usize),
    /// `cniVersion` is none that the plugin speaks.
    #[error("\"cniVersion\" is {0}: set it to one of {known}", known = CNI_VERSIONS.join(", "))]
    Version(String),
    #[error("\"network\" is not valid: {0}")]
    Network(InvalidName),
    #[error("\"network\" must be text: the name of a UserspaceNetwork")]
    NetworkType,
    /// It neither names a network nor is a configuration of Intel's userspace CNI.
    #[error("it has neither \"network\" nor \"host\": write the name of a UserspaceNetwork as \"network\"")]
    Neither,
    #[error(
        "\"plugins\" has more than one entry of type {PLUGIN}: keep one, the runtime would attach the same interface twice"
    )]
    SeveralPlugins,
    #[error(transparent)]
    Legacy(#[from] InvalidLegacy),
}

/// A configuration of Intel's userspace CNI, converted to our types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legacy {
    /// `host.engine`.
    pub engine: EngineKind,
    /// `host.bridge.bridgeName` or `host.bridge.bridgeId`; with VPP the digits of the bridge
    /// domain's id.
    pub bridge: BridgeName,
    /// The requested settings of the bridge and of its ports.
    pub settings: Settings,
    /// `ipam`, if it names a plugin. It is used instead of that of the network.
    pub ipam: Option<Value>,
    /// `container.mac` or `host.mac`: the MAC address of the pod, unless the pod itself requested
    /// one.
    pub mac: Option<MacAddress>,
    /// `socketfile` of the host: the name of the socket in the pod's directory; none for the
    /// default name.
    pub socket_file: Option<String>,
}

impl Legacy {
    /// Reads one plugin's configuration, and rejects it at the first key that is not supported.
    pub fn read(configuration: &Map<String, Value>) -> Result<Self, InvalidLegacy> {
        parse::legacy(&Keys::of(configuration))
    }

    /// The name of the network that is generated for its bridge when no user created one.
    pub fn network_name(&self) -> NetworkName {
        NetworkName::for_bridge(self.engine, &self.bridge)
    }
}

/// Whether a plugin's configuration is one of Intel's userspace CNI. `network` takes precedence.
pub fn is_legacy(configuration: &Map<String, Value>) -> bool {
    !configuration.contains_key(NETWORK_KEY) && configuration.keys().any(|key| key.eq_ignore_ascii_case("host"))
}

/// Parses the `config` of a NetworkAttachmentDefinition: a single plugin configuration, or a list
/// with one of ours in it. None when it is for other plugins, or empty: the runtime then uses a
/// file on the node.
pub fn parse_nad_config(config: &str) -> Result<Option<NadConfig>, InvalidNadConfig> {
    let Some(Found { version, plugin }) = plugin_of(config)?.filter(|found| is_ours(&found.plugin)) else {
        return Ok(None);
    };
    check_version(version)?;
    one(&plugin).map(Some)
}

/// The key is not required: without it a configuration is of the first version.
fn check_version(version: Option<Value>) -> Result<(), InvalidNadConfig> {
    match version {
        None => Ok(()),
        Some(Value::String(text)) if text.is_empty() || CNI_VERSIONS.contains(&text.as_str()) => Ok(()),
        // Any tenant may write it, and of any length.
        Some(other) => Err(InvalidNadConfig::Version(other.to_string().chars().take(VERSION_SHOWN_MAX).collect())),
    }
}

/// `ipam` of our plugin in a `config`, with the key `type` in that spelling; none if it names no
/// plugin.
pub fn nad_ipam(config: &str) -> Option<Value> {
    let plugin = plugin_of(config).ok().flatten().map(|found| found.plugin).filter(is_ours)?;
    parse::ipam(&Keys::of(&plugin)).ok().flatten()
}

/// The keys of `host` that have no effect, as paths: for users who migrate. Empty for what is no
/// configuration of Intel's userspace CNI; of an invalid one the keys after the first problem are
/// among them.
pub fn ignored_keys(config: &str) -> Vec<String> {
    let plugin = plugin_of(config).ok().flatten().map(|found| found.plugin);
    let plugin = plugin.filter(|plugin| is_ours(plugin) && is_legacy(plugin));
    plugin.map_or_else(Vec::new, |plugin| {
        let keys = Keys::recording(&plugin);
        let _result = parse::legacy(&keys);
        keys.unread("host")
    })
}

struct Found {
    /// `cniVersion` of the whole.
    version: Option<Value>,
    plugin: Map<String, Value>,
}

/// The configuration of our plugin in a `config`; none if it has none, or is empty.
fn plugin_of(config: &str) -> Result<Option<Found>, InvalidNadConfig> {
    if config.trim().is_empty() {
        return Ok(None);
    }
    if config.len() > CONFIG_MAX {
        return Err(InvalidNadConfig::TooLong(config.len()));
    }
    let Ok(Value::Object(mut whole)) = serde_json::from_str(config) else { return Err(InvalidNadConfig::NotJson) };
    let version = whole.get("cniVersion").cloned();
    let Some(Value::Array(plugins)) = whole.get_mut("plugins") else {
        return Ok(Some(Found { version, plugin: whole }));
    };
    let plugins = std::mem::take(plugins).into_iter();
    let mut ours = plugins.filter_map(|plugin| match plugin {
        Value::Object(plugin) => Some(plugin).filter(is_ours),
        _ => None,
    });
    match (ours.next(), ours.next()) {
        (only, None) => Ok(only.map(|plugin| Found { version, plugin })),
        (_, Some(_)) => Err(InvalidNadConfig::SeveralPlugins),
    }
}

fn one(configuration: &Map<String, Value>) -> Result<NadConfig, InvalidNadConfig> {
    match configuration.get(NETWORK_KEY) {
        Some(Value::String(name)) => {
            NetworkName::try_from(name.clone()).map(NadConfig::Network).map_err(InvalidNadConfig::Network)
        }
        Some(_) => Err(InvalidNadConfig::NetworkType),
        None if is_legacy(configuration) => Ok(NadConfig::Legacy(Box::new(Legacy::read(configuration)?))),
        None => Err(InvalidNadConfig::Neither),
    }
}

fn is_ours(configuration: &Map<String, Value>) -> bool {
    configuration.iter().any(|(key, value)| key.eq_ignore_ascii_case("type") && value.as_str() == Some(PLUGIN))
}

#[cfg(test)]
mod tests;
