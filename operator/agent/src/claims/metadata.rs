//! Device metadata for containers (KEP-5304), which KubeVirt's plugin for vhost-user reads. Format:
//! `api/metadata` of
//! <https://github.com/kubernetes/dynamic-resource-allocation>. No IO.

use super::container::container_directory;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use usnet_common::api::device_api::DRIVER;
use usnet_dataplane::attachment::ClaimUid;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord};
use usnet_dataplane::paths::NodePaths;

/// The folder of the files in containers.
const CONTAINER_FOLDER: &str = "/var/run/kubernetes.io/dra-device-attributes";

/// The folder of a claim's files on the node.
pub(super) fn folder(paths: &NodePaths, claim: &ClaimUid) -> PathBuf {
    paths.claim_metadata().join(claim.as_str())
}

/// The file of a request on the node.
pub(super) fn path(paths: &NodePaths, record: &ClaimRecord, request: &str) -> PathBuf {
    folder(paths, &record.uid).join(format!("{request}.json"))
}

/// The file of a request in containers.
pub(super) fn container_path(record: &ClaimRecord, request: &str) -> PathBuf {
    let (kind, name) = match &record.pod_claim_name {
        Some(name) => ("resourceclaimtemplates", name),
        None => ("resourceclaims", &record.name),
    };
    Path::new(CONTAINER_FOLDER).join(kind).join(name).join(request).join(format!("{DRIVER}-metadata.json"))
}

/// The content of a request's file. The format allows one object for each of its versions; this is
/// the only one.
pub(super) fn content(record: &ClaimRecord, request: &str) -> Value {
    let devices = record.ports.iter().filter(|port| port.request == request).map(|port| device(record, port));
    let mut content = json!({
        "kind": "DeviceMetadata",
        "apiVersion": "metadata.resource.k8s.io/v1alpha1",
        "metadata": {
            "name": record.name, "namespace": record.namespace, "uid": record.uid, "generation": record.generation,
        },
        "requests": [{"name": request, "devices": devices.collect::<Vec<_>>()}],
    });
    if let (Some(name), Some(keys)) = (&record.pod_claim_name, content.as_object_mut()) {
        keys.insert("podClaimName".to_owned(), json!(name));
    }
    content
}

/// The metadata of one device. KubeVirt's plugin for vhost-user needs `vhost-user-path` and `mtu`.
fn device(record: &ClaimRecord, port: &ClaimPort) -> Value {
    let mut attributes = Map::new();
    attributes.insert("network".to_owned(), json!({"string": port.network}));
    attributes.insert("interface".to_owned(), json!({"string": port.interface}));
    let mut network = None;
    if let Some(attached) = &port.attached {
        // The program that reads this path listens there for vhost-user.
        let is_listening = attached.is_vhost_user_server && !port.is_with_sandbox;
        if let Some(socket) = attached.socket.as_ref().filter(|_| is_listening) {
            let path = container_directory(record, port).join(socket);
            attributes.insert("vhost-user-path".to_owned(), json!({"string": path}));
        }
        attributes.insert("mtu".to_owned(), json!({"int": attached.mtu}));
        attributes.insert("mac".to_owned(), json!({"string": attached.mac}));
        network = Some(network_data(port));
    }
    let mut device = json!({"driver": DRIVER, "pool": port.pool, "name": port.device, "attributes": attributes});
    if let (Some(network), Some(keys)) = (network, device.as_object_mut()) {
        keys.insert("networkData".to_owned(), network);
    }
    device
}

/// The interface, MAC address and IP addresses, in the form of `status.devices` of a claim.
pub(super) fn network_data(port: &ClaimPort) -> Value {
    let attached = port.attached.as_ref();
    json!({
        "interfaceName": port.interface,
        "hardwareAddress": attached.map(|attached| attached.mac.to_string()).unwrap_or_default(),
        "ips": attached.map(|attached| attached.ips.clone()).unwrap_or_default(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use usnet_dataplane::attachment::Pod;
    use usnet_dataplane::claim_records::AttachedClaimPort;

    pub(in crate::claims) fn record() -> ClaimRecord {
        let attached = AttachedClaimPort {
            socket: Some("claim1.sock".into()),
            is_vhost_user_server: true,
            mac: "02:00:00:00:00:01".parse().unwrap(),
            mtu: 1450,
            ips: vec!["10.1.2.3/24".into()],
        };
        let port = ClaimPort {
            request: "port".into(),
            pool: "node-a".into(),
            device: "blue".into(),
            share_id: Some("s-1".into()),
            network: "blue".parse().unwrap(),
            interface: "claim1".parse().unwrap(),
            directory: "port".into(),
            requested: Map::new(),
            is_with_sandbox: false,
            attached: Some(attached),
        };
        ClaimRecord {
            version: ClaimRecord::VERSION,
            uid: "c-1".parse().unwrap(),
            namespace: "default".into(),
            name: "web-uplink-x7".into(),
            generation: 2,
            pod_claim_name: Some("uplink".into()),
            is_of_extended_resource: false,
            pod: Pod { namespace: "default".into(), name: "web".into(), uid: "p-1".parse().unwrap() },
            ports: vec![port],
            is_reported: false,
        }
    }

    #[test]
    fn the_file_is_where_and_what_kubernetes_library_writes() {
        let expected = json!({
            "kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1alpha1",
            "metadata": {"name": "web-uplink-x7", "namespace": "default", "uid": "c-1", "generation": 2},
            "podClaimName": "uplink",
            "requests": [{"name": "port", "devices": [{
                "driver": "usnet.dev", "pool": "node-a", "name": "blue",
                "attributes": {
                    "network": {"string": "blue"}, "interface": {"string": "claim1"},
                    "vhost-user-path": {"string": "/run/usnet.dev/uplink/port/claim1.sock"},
                    "mtu": {"int": 1450}, "mac": {"string": "02:00:00:00:00:01"},
                },
                "networkData": {
                    "interfaceName": "claim1", "hardwareAddress": "02:00:00:00:00:01", "ips": ["10.1.2.3/24"],
                },
            }]}],
        });
        assert_eq!(content(&record(), "port"), expected);
        let named = ClaimRecord { pod_claim_name: None, ..record() };
        assert_eq!(content(&named, "port").get("podClaimName"), None);
        let file = "resourceclaims/web-uplink-x7/port/usnet.dev-metadata.json";
        assert_eq!(container_path(&named, "port"), Path::new(CONTAINER_FOLDER).join(file));
    }

    /// The socket is of a memif, or the engine listens at it.
    #[test]
    fn another_socket_is_no_vhost_user_path() {
        let mut record = record();
        record.ports.first_mut().unwrap().attached.as_mut().unwrap().is_vhost_user_server = false;
        let attributes = &content(&record, "port")["requests"][0]["devices"][0]["attributes"];
        assert_eq!((attributes.get("vhost-user-path"), &attributes["mtu"]), (None, &json!({"int": 1450})));
    }

    /// The rules of KubeVirt's plugin for vhost-user (`pkg/dra` of
    /// <https://github.com/kubevirt/vhostuser-network-binding-plugin>): it takes the file of the
    /// claim and request, the first object of the stream, the request by its name, the device of
    /// the driver, and both attributes, which are required.
    #[test]
    fn kubevirts_plugin_finds_path_and_mtu() {
        let record = record();
        let text = content(&record, "port").to_string();
        let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let first = stream.next().unwrap().unwrap();
        assert_eq!(first["kind"], "DeviceMetadata");
        let requests = first["requests"].as_array().unwrap();
        let request = requests.iter().find(|request| request["name"] == "port").unwrap();
        let devices = request["devices"].as_array().unwrap();
        let device = devices.iter().find(|device| device["driver"] == DRIVER).unwrap();
        let path = device["attributes"]["vhost-user-path"]["string"].as_str().unwrap();
        assert!(path.starts_with('/') && path.len() <= 107, "{path}");
        assert_eq!(device["attributes"]["mtu"]["int"].as_i64(), Some(1450));
    }
}
