//! A network selection element of a pod's annotation. Keys: Network Plumbing Working Group
//! specification (v1.3, section 4.1.2).

use crate::protocol::configuration::{Configuration, DEFAULT_ROUTE};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{InvalidName, NamespaceName, NetworkName};
use usnet_dataplane::attachment::{InterfaceName, InvalidIdentifier};

/// Keys that are not supported, and why.
const UNSUPPORTED: [(&str, &str); 3] = [
    ("deviceID", "interfaces of usnet are not hardware devices; remove it"),
    ("infiniband-guid", "networks of usnet are not InfiniBand; remove it"),
    (
        "ipam-claim-reference",
        "IPAMClaims are not supported; set the address in spec.attachments of the network, or request it in \"ips\"",
    ),
];

/// Why an element cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetworkSelectionError {
    /// It does not have the format of the specification.
    #[error("its format is not valid: write an object with \"name\", or NAMESPACE/NAME@INTERFACE")]
    Malformed(#[source] Option<serde_json::Error>),
    /// The network's or namespace's name is invalid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The interface name is invalid.
    #[error(transparent)]
    Interface(#[from] InvalidIdentifier),
    /// Another interface of the pod has its name.
    #[error("the pod already has an interface {0}: set another name in \"interface\"")]
    InterfaceNameInUse(InterfaceName),
    /// A key is not supported.
    #[error("\"{key}\" is {value}, which is not supported: {reason}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// Why not.
        reason: &'static str,
    },
    /// A key is unknown. Keys with a domain belong to other programs and are ignored.
    #[error(
        "the key \"{0}\" is not known: keys without a dot are reserved for the specification, which does not define it"
    )]
    UnknownKey(String),
}

/// The keys as they are written.
#[derive(Debug, Deserialize)]
struct Selection {
    name: String,
    namespace: Option<String>,
    /// Multus accepts `interfaceRequest` as well.
    #[serde(alias = "interfaceRequest")]
    interface: Option<String>,
    ips: Option<Vec<String>>,
    mac: Option<String>,
    bandwidth: Option<Map<String, Value>>,
    #[serde(rename = "portMappings")]
    port_mappings: Option<Vec<Value>>,
    #[serde(rename = "cni-args")]
    arguments: Option<Map<String, Value>>,
    #[serde(rename = "default-route")]
    default_route: Option<Vec<String>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// One network of a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkSelectionElement {
    /// The network.
    pub network: NetworkName,
    /// The interface in the pod.
    pub interface: InterfaceName,
    /// The requests with a capability: `ips`, `mac`, `bandwidth` and `portMappings` of
    /// `runtimeConfig`.
    pub runtime: Map<String, Value>,
    /// The other requests: `args.cni`.
    pub arguments: Map<String, Value>,
}

impl NetworkSelectionElement {
    /// Converts an element of the form `namespace/name@interface` to JSON.
    ///
    /// # Errors
    /// When it has more parts, or an empty one.
    pub fn from_short_form(text: &str) -> Result<Value, NetworkSelectionError> {
        let (path, interface) = match text.trim().split_once('@') {
            Some((path, interface)) => (path, Some(interface)),
            None => (text.trim(), None),
        };
        let (namespace, name) = match path.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, path),
        };
        let parts = [Some(name), namespace, interface];
        if parts.into_iter().flatten().any(str::is_empty) {
            return Err(NetworkSelectionError::Malformed(None));
        }
        Ok(json!({"name": name, "namespace": namespace, "interface": interface}))
    }

    /// Reads the element of that number, counted from 1, and adds its interface to `used`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(raw: Value, number: usize, used: &mut BTreeSet<InterfaceName>) -> Result<Self, NetworkSelectionError> {
        let raw = Selection::deserialize(raw).map_err(|source| NetworkSelectionError::Malformed(Some(source)))?;
        check_keys(&raw.others)?;
        // For Multus this is the NAD's namespace. Networks have none, and the pod's own namespace
        // decides whether it may attach.
        raw.namespace.map(NamespaceName::try_from).transpose()?;
        let interface = raw.interface.filter(|name| !name.is_empty());
        let interface = InterfaceName::try_from(interface.unwrap_or_else(|| format!("net{number}")))?;
        let network = NetworkName::try_from(raw.name)?;
        if !used.insert(interface.clone()) {
            return Err(NetworkSelectionError::InterfaceNameInUse(interface));
        }
        let mut arguments = raw.arguments.unwrap_or_default();
        arguments.extend(raw.default_route.map(|routers| (DEFAULT_ROUTE.to_owned(), routers.into())));
        let capabilities = [
            ("ips", raw.ips.map(Value::from)),
            ("mac", raw.mac.map(Value::from)),
            ("bandwidth", raw.bandwidth.map(Value::from)),
            ("portMappings", raw.port_mappings.map(Value::from)),
        ];
        let runtime = capabilities.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        Ok(Self { network, interface, runtime, arguments })
    }

    /// The configuration that Multus would pass for it.
    pub fn configuration(&self, configuration: &Configuration) -> Configuration {
        let mut parts = Map::from_iter([
            ("network".to_owned(), self.network.as_str().into()),
            ("runtimeConfig".to_owned(), self.runtime.clone().into()),
        ]);
        if !self.arguments.is_empty() {
            parts.insert("args".to_owned(), json!({"cni": self.arguments}));
        }
        configuration.with_parts(parts)
    }
}

fn check_keys(others: &BTreeMap<String, Value>) -> Result<(), NetworkSelectionError> {
    for (key, value) in others.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((key, reason)) = UNSUPPORTED.into_iter().find(|(rejected, _)| rejected == key) {
            return Err(NetworkSelectionError::Unsupported { key, value: value.to_string(), reason });
        }
        if !key.contains('.') {
            return Err(NetworkSelectionError::UnknownKey(key.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
