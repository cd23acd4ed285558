//! The devices that kubelet allocated to a pod.
//!
//! Multus passes the device id in the configuration, and the author of the pod's annotation can
//! make it pass any text. Therefore kubelet's checkpoint is authoritative, which is written before
//! the pod's sandbox starts.

use crate::protocol::configuration::{Configuration, ConfigurationError};
use crate::protocol::error::ErrorCode;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use usnet_crds::device::resource_name;
use usnet_crds::{DeviceId, NetworkName};
use usnet_dataplane::attachment::{Pod, PodUid};
use usnet_dataplane::paths::NodePaths;

/// The name of kubelet's checkpoint, in its folder of device plugins.
const CHECKPOINT: &str = "kubelet_internal_checkpoint";

#[derive(Debug, thiserror::Error)]
pub enum DeviceAllocationError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("cannot read kubelet's device allocations from {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "cannot parse kubelet's device allocations in {}: this release supports the file of kubelet 1.20 and later",
        path.display()
    )]
    Format { path: PathBuf, source: serde_json::Error },
    #[error(
        "the network configuration requests device {requested:?}, which kubelet did not allocate to pod {pod} as {resource}: remove \"deviceID\" from the pod's annotation, and request the resource in a container's limits",
        resource = resource_name(network)
    )]
    DeviceNotAllocatedToPod { requested: String, network: NetworkName, pod: Pod },
    #[error(
        "device {device} is used by another interface of pod {pod}: each interface needs its own, so request as many {resource} as the pod has interfaces on the network",
        resource = resource_name(device.network())
    )]
    InUse { device: DeviceId, pod: Pod },
    /// The pod has no directory for the socket.
    #[error(
        "pod {pod} has neither an unused device of {resource} nor an emptyDir volume \"{volume}\": request `{resource}: 1` in the limits of the container that uses the interface, or add `volumes: [{{name: {volume}, emptyDir: {{}}}}]` to the pod and mount it there, for example at /run/usnet",
        resource = resource_name(network)
    )]
    NoDeviceOrVolume { pod: Pod, network: NetworkName, volume: Box<str> },
}

impl DeviceAllocationError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Configuration(error) => error.code(),
            Self::DeviceNotAllocatedToPod { .. } | Self::InUse { .. } => ErrorCode::InvalidConfiguration,
            Self::NoDeviceOrVolume { .. } => ErrorCode::PodVolume,
            Self::Read { .. } | Self::Format { .. } => ErrorCode::IoFailure,
        }
    }
}

/// The device that the configuration requests, as written by Multus for a NAD with a resource.
pub fn requested_device(configuration: &Configuration) -> Result<Option<&str>, ConfigurationError> {
    let by_capability = configuration.runtime_config()?.and_then(|all| all.get("deviceID")).and_then(|id| id.as_str());
    Ok(configuration.device_id()?.or(by_capability).filter(|id| !id.is_empty()))
}

/// The devices of a network that kubelet allocated to a pod; none when kubelet has no checkpoint.
pub fn allocated(
    paths: &NodePaths,
    pod: &PodUid,
    network: &NetworkName,
) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    let resource = resource_name(network);
    let is_of_pod = |entry: &Entry| entry.pod == pod.as_str() && entry.resource == resource;
    let mut found = read(paths, is_of_pod)?;
    found.retain(|id| id.network() == network);
    Ok(found)
}

/// The devices of all networks that kubelet allocated to any pod.
pub fn all_allocated(paths: &NodePaths) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    read(paths, |_| true)
}

fn read(paths: &NodePaths, selects: impl Fn(&Entry) -> bool) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    let path = paths.kubelet_device_plugins().join(CHECKPOINT);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        read => read.map_err(|source| DeviceAllocationError::Read { path: path.clone(), source })?,
    };
    parse(&text, selects).map_err(|source| DeviceAllocationError::Format { path, source })
}

/// Chooses the device for an interface: the requested one, or else the first unused one; none when
/// the pod has none left.
///
/// # Errors
/// The requested device is not allocated to the pod, or is in `used`.
pub fn choose(
    allocated: BTreeSet<DeviceId>,
    used: &BTreeSet<DeviceId>,
    requested: Option<&str>,
    pod: &Pod,
    network: &NetworkName,
) -> Result<Option<DeviceId>, DeviceAllocationError> {
    let Some(requested) = requested else { return Ok(allocated.into_iter().find(|device| !used.contains(device))) };
    let is_requested = |device: &DeviceId| device.to_string() == requested;
    let Some(device) = allocated.into_iter().find(is_requested) else {
        return Err(DeviceAllocationError::DeviceNotAllocatedToPod {
            requested: requested.to_owned(),
            network: network.clone(),
            pod: pod.clone(),
        });
    };
    if used.contains(&device) {
        Err(DeviceAllocationError::InUse { device, pod: pod.clone() })
    } else {
        Ok(Some(device))
    }
}

/// The format is that of `pkg/kubelet/cm/devicemanager/checkpoint` of Kubernetes since 1.20.
fn parse(text: &[u8], selects: impl Fn(&Entry) -> bool) -> Result<BTreeSet<DeviceId>, serde_json::Error> {
    let file: File = serde_json::from_slice(text)?;
    let entries = file.data.entries.unwrap_or_default().into_iter().filter(|entry| selects(entry));
    let ids = entries.flat_map(|entry| entry.devices.unwrap_or_default().into_values().flatten());
    // Devices of other plugins have ids of any form.
    Ok(ids.filter_map(|id| id.parse().ok()).collect())
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "Data")]
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "PodDeviceEntries")]
    entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "PodUID")]
    pod: String,
    #[serde(rename = "ResourceName")]
    resource: String,
    /// The devices by NUMA node, which is -1 for devices without one.
    #[serde(rename = "DeviceIDs")]
    devices: Option<BTreeMap<String, Vec<String>>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Pod {
        Pod { namespace: "db".into(), name: "a".into(), uid: "1-1".parse().unwrap() }
    }

    fn ids(ids: &[&str]) -> BTreeSet<DeviceId> {
        ids.iter().map(|id| id.parse().unwrap()).collect()
    }

    fn node_with(entries: &serde_json::Value) -> (tempfile::TempDir, NodePaths) {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let text = json!({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 1}).to_string();
        fs::create_dir_all(paths.kubelet_device_plugins()).unwrap();
        fs::write(paths.kubelet_device_plugins().join(CHECKPOINT), text).unwrap();
        (folder, paths)
    }

    fn parsed(entries: &serde_json::Value) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
        let (_folder, paths) = node_with(entries);
        allocated(&paths, &pod().uid, &"blue".parse().unwrap())
    }

    #[test]
    fn devices_are_those_of_the_pod_and_the_network_in_all_containers() {
        let entry = |pod: &str, container: &str, resource: &str, devices: serde_json::Value| json!({"PodUID": pod, "ContainerName": container, "ResourceName": resource, "DeviceIDs": devices, "AllocResp": "CgA="});
        let entries = json!([
            entry("1-1", "a", "usnet.dev/blue", json!({"-1": ["blue-3", "blue-1"], "0": ["blue-2"]})),
            entry("1-1", "b", "usnet.dev/blue", json!({"-1": ["blue-4", "../blue-5", "red-1"]})),
            entry("1-1", "b", "usnet.dev/red", json!({"-1": ["red-0", "blue-6"]})),
            entry("1-2", "a", "usnet.dev/blue", json!({"-1": ["blue-0"]})),
            entry("1-1", "c", "usnet.dev/blue", json!(null)),
        ]);
        assert_eq!(parsed(&entries).unwrap(), ids(&["blue-1", "blue-2", "blue-3", "blue-4"]));
        let all = ["blue-0", "blue-1", "blue-2", "blue-3", "blue-4", "blue-6", "red-0", "red-1"];
        let (_folder, paths) = node_with(&entries);
        assert_eq!(all_allocated(&paths).unwrap(), ids(&all));
        assert_eq!(parsed(&json!(null)).unwrap(), ids(&[]));
        assert!(
            parsed(&json!([{"PodUID": "1-1", "ResourceName": "usnet.dev/blue", "DeviceIDs": ["blue-1"]}])).is_err()
        );
    }

    #[test]
    fn a_device_is_the_one_that_multus_names_or_a_free_one() {
        let network: NetworkName = "blue".parse().unwrap();
        let choose = |used: &[&str], requested: Option<&str>| {
            choose(ids(&["blue-1", "blue-2"]), &ids(used), requested, &pod(), &network)
                .map(|device| device.map(|device| device.to_string()))
        };
        assert_eq!(choose(&[], None).unwrap().as_deref(), Some("blue-1"));
        assert_eq!(choose(&["blue-1"], None).unwrap().as_deref(), Some("blue-2"));
        assert_eq!(choose(&["blue-1", "blue-2"], None).unwrap(), None);
        assert_eq!(choose(&[], Some("blue-2")).unwrap().as_deref(), Some("blue-2"));
        assert!(matches!(choose(&["blue-2"], Some("blue-2")), Err(DeviceAllocationError::InUse { .. })));
        for foreign in ["blue-0", "../blue-1", "red-1", "blue-01", "/etc", "\0"] {
            assert!(
                matches!(choose(&[], Some(foreign)), Err(DeviceAllocationError::DeviceNotAllocatedToPod { .. })),
                "{foreign}"
            );
        }
    }
}
