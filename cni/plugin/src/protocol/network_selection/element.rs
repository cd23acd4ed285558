//! A network selection element of a pod's annotation. The keys are those of the Network Plumbing
//! Working Group's specification (v1.3, section 4.1.2).

use crate::protocol::configuration::{Configuration, DEFAULT_ROUTE};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{InvalidName, NamespaceName, NetworkName};
use usnet_dataplane::attachment::{InterfaceName, InvalidIdentifier};

/// The keys that are not supported, and the reasons.
const UNSUPPORTED: [(&str, &str); 3] = [
    ("deviceID", "interfaces of usnet are not hardware devices; remove it"),
    ("infiniband-guid", "networks of usnet are not InfiniBand; remove it"),
    (
        "ipam-claim-reference",
        "IPAMClaims are not supported; fix the address by a UserspaceReservation, or request it in \"ips\"",
    ),
];

#[derive(Debug, thiserror::Error)]
pub enum NetworkSelectionError {
    #[error("its format is not valid: write an object with \"name\", or NAMESPACE/NAME@INTERFACE")]
    Malformed(#[source] Option<serde_json::Error>),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Interface(#[from] InvalidIdentifier),
    #[error("the pod already has an interface {0}: set another name in \"interface\"")]
    InterfaceNameInUse(InterfaceName),
    #[error("\"{key}\" is {value}, which is not supported: {reason}")]
    Unsupported { key: &'static str, value: String, reason: &'static str },
    /// Keys with a domain belong to other programs and are ignored.
    #[error(
        "the key \"{0}\" is not known: keys without a dot are reserved for the specification, which does not define it"
    )]
    UnknownKey(String),
}

/// The keys of an element in JSON.
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

#[derive(Debug, Clone, PartialEq)]
pub struct NetworkSelectionElement {
    pub network: NetworkName,
    pub interface: InterfaceName,
    /// The requests with a capability: `ips`, `mac`, `bandwidth` and `portMappings` of
    /// `runtimeConfig`.
    pub runtime: Map<String, Value>,
    /// The other requests, for `args.cni`.
    pub arguments: Map<String, Value>,
}

impl NetworkSelectionElement {
    /// Converts an element of the form `namespace/name@interface` to JSON.
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

    /// Reads an element and adds its interface to `used`. `number` is the position of the element,
    /// counted from 1.
    pub fn read(raw: Value, number: usize, used: &mut BTreeSet<InterfaceName>) -> Result<Self, NetworkSelectionError> {
        let raw = Selection::deserialize(raw).map_err(|source| NetworkSelectionError::Malformed(Some(source)))?;
        check_keys(&raw.others)?;
        // For Multus this is the namespace of the NAD. Networks have no namespace, and the pod's
        // own namespace decides whether it may attach.
        raw.namespace.map(NamespaceName::try_from).transpose()?;
        let interface = raw.interface.filter(|name| !name.is_empty());
        let interface = InterfaceName::try_from(interface.unwrap_or_else(|| format!("net{number}")))?;
        let network = NetworkName::try_from(raw.name)?;
        if !used.insert(interface.clone()) {
            return Err(NetworkSelectionError::InterfaceNameInUse(interface));
        }
        let mut arguments = raw.arguments.unwrap_or_default();
        arguments.extend(raw.default_route.map(|gateways| (DEFAULT_ROUTE.to_owned(), gateways.into())));
        let capabilities = [
            ("ips", raw.ips.map(Value::from)),
            ("mac", raw.mac.map(Value::from)),
            ("bandwidth", raw.bandwidth.map(Value::from)),
            ("portMappings", raw.port_mappings.map(Value::from)),
        ];
        let runtime = capabilities.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        Ok(Self { network, interface, runtime, arguments })
    }

    /// The configuration that Multus would pass for this element.
    pub fn configuration(&self, configuration: &Configuration) -> Configuration {
        let mut keys = Map::from_iter([
            ("network".to_owned(), self.network.as_str().into()),
            ("runtimeConfig".to_owned(), self.runtime.clone().into()),
        ]);
        if !self.arguments.is_empty() {
            keys.insert("args".to_owned(), json!({"cni": self.arguments}));
        }
        configuration.with_keys(keys)
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
mod tests {
    use super::*;

    fn read(raw: Value) -> Result<NetworkSelectionElement, NetworkSelectionError> {
        NetworkSelectionElement::read(raw, 1, &mut BTreeSet::new())
    }

    #[test]
    fn an_element_becomes_the_configuration_that_multus_would_pass() {
        let raw = json!({
            "name": "blue", "ips": ["10.0.0.5/24"], "mac": "02:00:00:00:00:01", "bandwidth": {"ingressRate": 2048}, "portMappings": [{"hostPort": 1}],
            "cni-args": {"x": {"y": 1}, "default-route": ["10.9.9.9"]}, "default-route": ["10.0.0.1"],
        });
        let whole = json!({
            "cniVersion": "1.0.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations", "prevResult": {"ips": []},
            "runtimeConfig": {"io.kubernetes.cri.pod-annotations": {}, "mac": "02:00:00:00:00:99"},
        });
        let whole = Configuration::parse(whole.to_string().as_bytes()).unwrap();
        let expected = json!({
            "cniVersion": "1.0.0", "name": "pods", "type": "userspace", "network": "blue",
            "runtimeConfig": {
                "ips": ["10.0.0.5/24"], "mac": "02:00:00:00:00:01", "bandwidth": {"ingressRate": 2048}, "portMappings": [{"hostPort": 1}]
            },
            "args": {"cni": {"x": {"y": 1}, "default-route": ["10.0.0.1"]}},
        });
        let expected = Configuration::parse(expected.to_string().as_bytes()).unwrap();
        assert_eq!(read(raw).unwrap().configuration(&whole), expected);
    }

    #[test]
    fn unsupported_keys_are_rejected_by_key_and_value() {
        for (key, _) in UNSUPPORTED {
            let reported = read(json!({"name": "blue", key: "vm-1"})).unwrap_err().to_string();
            assert!(reported.contains(key) && reported.contains("vm-1"), "{reported}");
            assert!(read(json!({"name": "blue", key: null})).is_ok());
        }
    }

    #[test]
    fn a_namespace_is_not_needed_and_must_be_one() {
        assert!(read(json!({"name": "blue", "namespace": "db"})).is_ok());
        let rejected = read(json!({"name": "blue", "namespace": "../db"}));
        assert!(matches!(rejected, Err(NetworkSelectionError::Name(InvalidName::Namespace(_)))), "{rejected:?}");
    }
}
