//! The parameters of a port in a claim or in a DeviceClass: `PortRequest`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::InterfaceName;

pub(super) const API_VERSION: &str = "usnet.dev/v1alpha1";
pub(super) const KIND: &str = "PortRequest";

/// Why parameters are invalid.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "the parameters of request {request:?} for driver usnet.dev are not a PortRequest of {API_VERSION}: use apiVersion, kind, interface, mac, ips and bandwidth {{ingressRate, egressRate}}"
    )]
    Invalid { request: String, source: serde_json::Error },
    #[error(
        "the parameters of request {request:?} for driver usnet.dev are {found}: write apiVersion: {API_VERSION}, kind: {KIND}"
    )]
    Kind { request: String, found: String },
}

/// The requested settings of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct PortRequest {
    api_version: String,
    kind: String,
    /// The name of the interface, and of its files.
    pub(super) interface: Option<InterfaceName>,
    mac: Option<MacAddress>,
    ips: Vec<String>,
    bandwidth: Option<Bandwidth>,
}

/// Rates in bits per second, as in the annotation of Multus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Bandwidth {
    ingress_rate: u64,
    egress_rate: u64,
}

impl PortRequest {
    pub(super) fn parse(request: &str, parameters: &Value) -> Result<Self, Error> {
        let parsed = Self::deserialize(parameters);
        let parsed = parsed.map_err(|source| Error::Invalid { request: request.to_owned(), source })?;
        if (parsed.api_version.as_str(), parsed.kind.as_str()) != (API_VERSION, KIND) {
            let found = format!("{:?} of {:?}", parsed.kind, parsed.api_version);
            return Err(Error::Kind { request: request.to_owned(), found });
        }
        Ok(parsed)
    }

    /// Merges these parameters with `other`, which takes precedence.
    pub(super) fn overridden_by(self, other: Self) -> Self {
        Self {
            interface: other.interface.or(self.interface),
            mac: other.mac.or(self.mac),
            ips: if other.ips.is_empty() { self.ips } else { other.ips },
            bandwidth: other.bandwidth.or(self.bandwidth),
            ..other
        }
    }

    /// Returns the settings as `runtimeConfig` of CNI.
    pub(super) fn runtime_config(&self) -> Map<String, Value> {
        let mut keys = Map::new();
        if let Some(mac) = &self.mac {
            keys.insert("mac".to_owned(), json!(mac));
        }
        if !self.ips.is_empty() {
            keys.insert("ips".to_owned(), json!(self.ips));
        }
        if let Some(rates) = &self.bandwidth {
            keys.insert("bandwidth".to_owned(), json!(rates));
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut keys: Value) -> Result<PortRequest, Error> {
        keys["apiVersion"] = json!(API_VERSION);
        keys["kind"] = json!(KIND);
        PortRequest::parse("port", &keys)
    }

    #[test]
    fn a_request_becomes_what_multus_would_pass() {
        let rates = json!({"ingressRate": 1_000_000, "egressRate": 2_000_000});
        let all = json!({"interface": "net7", "mac": "02:00:00:00:00:01", "ips": ["10.1.2.3/24"], "bandwidth": rates});
        let parsed = parse(all).unwrap();
        assert_eq!(parsed.interface.as_ref().map(InterfaceName::as_str), Some("net7"));
        let expected = json!({"mac": "02:00:00:00:00:01", "ips": ["10.1.2.3/24"], "bandwidth": rates});
        assert_eq!(Value::Object(parsed.runtime_config()), expected);
        assert!(parse(json!({})).unwrap().runtime_config().is_empty());
    }

    #[test]
    fn the_claim_overrides_its_class_field_by_field() {
        let class = parse(json!({"interface": "net7", "mac": "02:00:00:00:00:01"})).unwrap();
        let claim = parse(json!({"mac": "02:00:00:00:00:02"})).unwrap();
        let both = class.overridden_by(claim);
        assert_eq!(both.interface.as_ref().map(InterfaceName::as_str), Some("net7"));
        assert_eq!(both.runtime_config()["mac"], "02:00:00:00:00:02");
    }

    #[test]
    fn what_is_unknown_is_rejected_by_name() {
        for (keys, word) in [
            (json!({"colour": "red"}), "colour"),
            (json!({"bandwidth": {"ingressBurst": 1}}), "ingressBurst"),
            (json!({"interface": "a/b"}), "a/b"),
            (json!({"mac": "x"}), "x"),
        ] {
            let error = parse(keys).unwrap_err();
            let text = usnet_common::display::ErrorChain(&error).to_string();
            assert!(text.contains(word) && text.contains("\"port\""), "{text}");
        }
        let other = json!({"apiVersion": "example.org/v1", "kind": "Other"});
        let error = PortRequest::parse("port", &other).unwrap_err().to_string();
        assert!(error.contains("\"Other\" of \"example.org/v1\""), "{error}");
    }
}
