//! Configurations of the older userspace CNI (intel/userspace-cni-network-plugin, and its fork fivetime/userspace-cni), read into our words,
//! and what a NetworkAttachmentDefinition asks of us at all.
//!
//! Each key is honoured, refused by name, or ignored: `docs/userspace-cni.md` says which and why. Keys are matched whatever their case, as
//! Go's `encoding/json` does, which that plugin read them with. Nothing that ADD reads yields a path of the node: `logFile` and `kubeconfig` are not
//! even looked at, and a `socketfile` is the name of a file or refused. Pure, and without Kubernetes: the controller and the
//! CNI plugin must understand a configuration in the same way.

mod container_conf;
mod error;
mod host_conf;
mod keys;
mod parse;
mod settings;
mod vlan;

pub use container_conf::ContainerConf;
pub use error::InvalidLegacy;
pub use host_conf::{HostConf, plain_path, shared_dir};
pub use settings::{SettingMismatch, Settings};

use crate::{BridgeName, Engine, InvalidName, MacAddress, NetworkName};
use keys::Keys;
use serde_json::{Map, Value};

/// The CNI plugin's name, ours and the older one's: what `type` says.
pub const PLUGIN: &str = "userspace";
/// Longest `config` of a NetworkAttachmentDefinition that is read, in bytes. Real ones have some hundred; tenants can write megabytes.
pub const CONFIG_MAX: usize = 64 * 1024;
/// The key by which our own configurations name a network.
pub const NETWORK_KEY: &str = "network";

/// What a configuration for our plugin asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NadConfig {
    /// The network of this name.
    Network(NetworkName),
    /// The bridge that a configuration of the older plugin names.
    Legacy(Box<Legacy>),
}

/// Why a configuration for our plugin cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNadConfig {
    /// It is not JSON. Whose it is cannot be told then.
    #[error("it is not a JSON object")]
    NotJson,
    /// It is longer than anything that could be meant.
    #[error("it has {0} bytes, and {CONFIG_MAX} is the limit")]
    TooLong(usize),
    /// It names a network by what is no name.
    #[error("\"network\" is not valid: {0}")]
    Network(InvalidName),
    /// `network` is not text.
    #[error("\"network\" must be text: the name of a UserspaceNetwork")]
    NetworkType,
    /// It neither names a network nor is a configuration of the older plugin.
    #[error("it has neither \"network\" nor \"host\": write the name of a UserspaceNetwork as \"network\"")]
    Neither,
    /// A list of plugins with more than one of ours.
    #[error(
        "\"plugins\" has more than one entry of type {PLUGIN}: keep one, the runtime would attach the same interface twice"
    )]
    SeveralPlugins,
    /// A configuration of the older plugin that cannot be used.
    #[error(transparent)]
    Legacy(#[from] InvalidLegacy),
}

/// A configuration of the older plugin, in our words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legacy {
    /// `host.engine`.
    pub engine: Engine,
    /// `host.bridge.bridgeName` or `host.bridge.bridgeId`; with VPP the digits of the bridge domain's id.
    pub bridge: BridgeName,
    /// What it asks of the bridge and of its ports.
    pub settings: Settings,
    /// `ipam`, if it names a plugin; its own, whatever network is joined.
    pub ipam: Option<Value>,
    /// `container.mac` or `host.mac`: what the pod is told, unless the pod itself asked for another.
    pub mac: Option<MacAddress>,
    /// `socketfile` of the host's end: what the socket is called in the pod's directory. None means a name of the attachment's own.
    pub socket_file: Option<String>,
}

impl Legacy {
    /// Reads one plugin's configuration.
    ///
    /// # Errors
    /// What cannot be ours, by its key.
    pub fn read(configuration: &Map<String, Value>) -> Result<Self, InvalidLegacy> {
        parse::legacy(&Keys::of(configuration))
    }

    /// The network that is made for its bridge when nobody has made one.
    pub fn network_name(&self) -> NetworkName {
        NetworkName::for_bridge(self.engine, &self.bridge)
    }
}

/// Whether one plugin's configuration is in the older form. `network` goes before everything else.
pub fn is_legacy(configuration: &Map<String, Value>) -> bool {
    !configuration.contains_key(NETWORK_KEY) && configuration.keys().any(|key| key.eq_ignore_ascii_case("host"))
}

/// What the `config` of a NetworkAttachmentDefinition asks of us: one plugin's configuration, or a list of them with ours in it. Nothing when
/// it is for other plugins, or empty: then the runtime takes a file of the node.
///
/// # Errors
/// When it is for us and cannot be used, or cannot be read at all.
pub fn parse_nad_config(config: &str) -> Result<Option<NadConfig>, InvalidNadConfig> {
    if config.trim().is_empty() {
        return Ok(None);
    }
    if config.len() > CONFIG_MAX {
        return Err(InvalidNadConfig::TooLong(config.len()));
    }
    let Ok(Value::Object(whole)) = serde_json::from_str(config) else { return Err(InvalidNadConfig::NotJson) };
    let Some(Value::Array(plugins)) = whole.get("plugins") else { return one(&whole) };
    let mut ours = plugins.iter().filter_map(Value::as_object).filter(|plugin| is_ours(plugin));
    match (ours.next(), ours.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => one(only),
        (Some(_), Some(_)) => Err(InvalidNadConfig::SeveralPlugins),
    }
}

fn one(configuration: &Map<String, Value>) -> Result<Option<NadConfig>, InvalidNadConfig> {
    if !is_ours(configuration) {
        return Ok(None);
    }
    match configuration.get(NETWORK_KEY) {
        Some(Value::String(name)) => NetworkName::try_from(name.clone())
            .map(|name| Some(NadConfig::Network(name)))
            .map_err(InvalidNadConfig::Network),
        Some(_) => Err(InvalidNadConfig::NetworkType),
        None if is_legacy(configuration) => Ok(Some(NadConfig::Legacy(Box::new(Legacy::read(configuration)?)))),
        None => Err(InvalidNadConfig::Neither),
    }
}

fn is_ours(configuration: &Map<String, Value>) -> bool {
    configuration.iter().any(|(key, value)| key.eq_ignore_ascii_case("type") && value.as_str() == Some(PLUGIN))
}

#[cfg(test)]
mod tests;
