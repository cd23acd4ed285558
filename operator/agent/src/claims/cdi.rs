//! The CDI spec of a claim: what the container runtime adds to the containers that list it. Format:
//! <https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md>. No IO.

use super::container::container_directory;
use super::metadata;
use serde_json::{Value, json};
use std::path::PathBuf;
use usnet_common::api::device_api::DRIVER;
use usnet_crds::device::folders_variable;
use usnet_dataplane::attachment::ClaimUid;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord, port_folder};
use usnet_dataplane::paths::NodePaths;

/// The CDI kind of all devices of usnet.
const KIND: &str = "usnet.dev/port";

/// The file of a claim's spec.
pub(super) fn path(paths: &NodePaths, claim: &ClaimUid) -> PathBuf {
    paths.cdi.join(format!("{DRIVER}-port_{claim}.json"))
}

/// The CDI name of a device, which kubelet passes to the container runtime.
pub(super) fn device_id(record: &ClaimRecord, port: &ClaimPort) -> String {
    format!("{KIND}={}", device_name(record, port))
}

fn device_name(record: &ClaimRecord, port: &ClaimPort) -> String {
    format!("{}-{}", record.uid, port.directory)
}

/// The content of the spec.
pub(super) fn spec(paths: &NodePaths, record: &ClaimRecord) -> Value {
    let device = |(index, port): (usize, &ClaimPort)| {
        let in_container = container_directory(record, port);
        let mut mounts = Vec::new();
        if !port.is_with_sandbox {
            mounts.push(json!({
                "hostPath": port_folder(paths, &record.uid, &port.interface),
                "containerPath": in_container,
                // With what is mounted in it: the folder of a socket of Open vSwitch.
                "options": ["rbind", "rw", "nosuid", "nodev", "noexec"],
            }));
        }
        // All devices of a request share one file, which is mounted once.
        if record.ports.iter().position(|other| other.request == port.request) == Some(index) {
            mounts.push(json!({
                "hostPath": metadata::path(paths, record, &port.request),
                "containerPath": metadata::container_path(record, &port.request),
                "options": ["bind", "ro", "nosuid", "nodev", "noexec"],
            }));
        }
        json!({
            "name": device_name(record, port),
            "containerEdits": {
                "env": [variable(record, port)],
                "mounts": mounts,
            },
        })
    };
    let devices: Vec<Value> = record.ports.iter().enumerate().map(device).collect();
    json!({"cdiVersion": "0.6.0", "kind": KIND, "devices": devices})
}

/// The environment variable with the directory of a port, such as `USNET_CLAIM_UPLINK_PORT`, or
/// with its interface, `USNET_CLAIM_UPLINK_PORT_INTERFACE`, if it has no directory. For an extended
/// resource the variable is named as the device plugin's, `USNET_DEVICES_BLUE`, and lists all
/// directories or interfaces of the request: pods need not know by which mechanism a node serves
/// the resource.
fn variable(record: &ClaimRecord, port: &ClaimPort) -> String {
    let value = |port: &ClaimPort| match port.is_with_sandbox {
        true => port.interface.to_string(),
        false => container_directory(record, port).display().to_string(),
    };
    let suffix = if port.is_with_sandbox { "_INTERFACE" } else { "" };
    if record.is_of_extended_resource {
        let of_request = record.ports.iter().filter(|other| other.request == port.request);
        let values: Vec<String> = of_request.map(value).collect();
        return format!("{}{suffix}={}", folders_variable(&port.network), values.join(","));
    }
    let name = record.pod_claim_name.as_ref().unwrap_or(&record.name);
    let is_plain = |character: char| character.is_ascii_alphanumeric();
    let plain = format!("USNET_CLAIM_{name}_{}", port.directory).to_ascii_uppercase();
    let name: String = plain.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    format!("{name}{suffix}={}", value(port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::metadata::tests::record;
    use std::path::Path;

    #[test]
    fn a_container_gets_the_directory_and_the_metadata() {
        let record = record();
        let spec = spec(&NodePaths::below(Path::new("/")), &record);
        let expected = json!({
            "cdiVersion": "0.6.0", "kind": "usnet.dev/port",
            "devices": [{
                "name": "c-1-port",
                "containerEdits": {
                    "env": ["USNET_CLAIM_UPLINK_PORT=/run/usnet.dev/uplink/port"],
                    "mounts": [
                        {
                            "hostPath": "/run/usnet/claims/c-1.claim1", "containerPath": "/run/usnet.dev/uplink/port",
                            "options": ["rbind", "rw", "nosuid", "nodev", "noexec"],
                        },
                        {
                            "hostPath": "/run/usnet/claim-metadata/c-1/port.json",
                            "containerPath": "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/uplink/port/usnet.dev-metadata.json",
                            "options": ["bind", "ro", "nosuid", "nodev", "noexec"],
                        },
                    ],
                },
            }],
        });
        assert_eq!(spec, expected);
        let port = record.ports.first().unwrap();
        assert_eq!(device_id(&record, port), "usnet.dev/port=c-1-port");
    }

    #[test]
    fn a_container_with_an_extended_resource_gets_what_the_device_plugin_gives() {
        let mut record = record();
        (record.pod_claim_name, record.is_of_extended_resource) = (None, true);
        let mut second = record.ports.first().unwrap().clone();
        (second.interface, second.directory) = ("claim2".parse().unwrap(), "port-1".into());
        record.ports.push(second);
        let spec = spec(&NodePaths::below(Path::new("/")), &record);
        let variable = "USNET_DEVICES_BLUE=/run/usnet.dev/blue/port,/run/usnet.dev/blue/port-1";
        for device in spec["devices"].as_array().unwrap() {
            assert_eq!(device["containerEdits"]["env"], json!([variable]));
        }
    }

    #[test]
    fn an_interface_of_the_pods_namespace_has_no_directory() {
        let mut record = record();
        record.ports.first_mut().unwrap().is_with_sandbox = true;
        let spec = spec(&NodePaths::below(Path::new("/")), &record);
        let edits = &spec["devices"][0]["containerEdits"];
        assert_eq!(edits["env"], json!(["USNET_CLAIM_UPLINK_PORT_INTERFACE=claim1"]));
        assert_eq!(edits["mounts"].as_array().unwrap().len(), 1, "only its metadata");
        (record.pod_claim_name, record.is_of_extended_resource) = (None, true);
        let spec = super::spec(&NodePaths::below(Path::new("/")), &record);
        assert_eq!(spec["devices"][0]["containerEdits"]["env"], json!(["USNET_DEVICES_BLUE_INTERFACE=claim1"]));
    }

    #[test]
    fn devices_of_one_request_share_its_metadata() {
        let mut record = record();
        let mut second = record.ports.first().unwrap().clone();
        second.interface = "claim2".parse().unwrap();
        second.directory = "port-1".into();
        record.ports.push(second);
        let spec = spec(&NodePaths::below(Path::new("/")), &record);
        let mounts = |index: usize| spec["devices"][index]["containerEdits"]["mounts"].as_array().unwrap().len();
        assert_eq!((mounts(0), mounts(1)), (2, 1));
    }
}
