//! A parsed request. Pure.

use serde_json::{Map, Value, json};
use usnet_crds::{KilobitsPerSecond, RequestedAttachment};
use usnet_dataplane::attachment::{InterfaceName, InvalidIdentifier, Pod, Record};

const BITS_PER_KILOBIT: u64 = 1000;

/// An interface that a pod should have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    /// The uid of the UserspaceAttachment.
    pub(super) uid: String,
    /// The namespace and name of the UserspaceAttachment, for logs.
    pub(super) object: String,
    pub(super) pod: Pod,
    /// The interface in the pod.
    pub(super) interface: InterfaceName,
    /// The CNI network configuration.
    pub(super) configuration: Value,
}

impl Wanted {
    pub(super) fn parse(request: &RequestedAttachment) -> Result<Self, InvalidIdentifier> {
        Ok(Self {
            uid: request.uid.clone(),
            object: format!("{}/{}", request.namespace, request.name),
            pod: Pod {
                namespace: request.namespace.to_string(),
                name: request.pod.to_string(),
                uid: request.pod_uid.parse()?,
            },
            interface: request.interface.parse()?,
            configuration: json!({
                "cniVersion": "1.1.0", "name": Record::configuration_of_object(&request.uid), "type": "userspace",
                "network": request.network, "runtimeConfig": runtime_config(request),
            }),
        })
    }
}

/// Returns `runtimeConfig` as Multus would pass it for the same options in an annotation.
fn runtime_config(request: &RequestedAttachment) -> Map<String, Value> {
    let bits = |rate: Option<KilobitsPerSecond>| rate.map_or(0, |rate| u64::from(rate.get()) * BITS_PER_KILOBIT);
    let mut keys = Map::new();
    if let Some(mac) = &request.mac {
        keys.insert("mac".to_owned(), json!(mac));
    }
    if !request.ips.is_empty() {
        keys.insert("ips".to_owned(), json!(request.ips));
    }
    if !request.rate_limit.is_none() {
        let (ingress, egress) = (bits(request.rate_limit.ingress_kbps), bits(request.rate_limit.egress_kbps));
        keys.insert("bandwidth".to_owned(), json!({"ingressRate": ingress, "egressRate": egress}));
    }
    keys
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn request(uid: &str, pod: &str, interface: &str) -> RequestedAttachment {
        let request = json!({
            "uid": uid, "namespace": "db", "name": format!("object-{uid}"), "pod": pod, "podUID": format!("{pod}-uid"),
            "network": "blue", "interface": interface,
        });
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn the_plugin_gets_what_multus_would_pass() {
        let mut all = request("o1", "web", "net7");
        all.mac = Some("02:00:00:00:00:01".parse().unwrap());
        all.ips = vec!["10.1.2.3/24".to_owned()];
        all.rate_limit.egress_kbps = Some(5.try_into().unwrap());
        let wanted = Wanted::parse(&all).unwrap();
        let expected = json!({
            "cniVersion": "1.1.0", "name": "usnet-attachment-o1", "type": "userspace", "network": "blue",
            "runtimeConfig": {
                "mac": "02:00:00:00:00:01", "ips": ["10.1.2.3/24"],
                "bandwidth": {"ingressRate": 0, "egressRate": 5000},
            },
        });
        assert_eq!(wanted.configuration, expected);
        assert!(Wanted::parse(&request("o1", "web", "a/b")).is_err());
    }
}
