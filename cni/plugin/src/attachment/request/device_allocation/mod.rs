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

/// kubelet's checkpoint, in its folder of device plugins.
const CHECKPOINT: &str = "kubelet_internal_checkpoint";

/// Why a pod's device cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum DeviceAllocationError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// kubelet's checkpoint cannot be read.
    #[error("cannot read kubelet's device allocations from {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// kubelet's checkpoint has an unknown format.
    #[error(
        "cannot parse kubelet's device allocations in {}: this release supports the file of kubelet 1.20 and later",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// The requested device is not allocated to the pod.
    #[error(
        "the network configuration requests device {requested:?}, which kubelet did not allocate to pod {pod} as {resource}: remove \"deviceID\" from the pod's annotation, and request the resource in a container's limits",
        resource = resource_name(network)
    )]
    DeviceNotAllocatedToPod {
        /// The device.
        requested: String,
        /// The network.
        network: NetworkName,
        /// The pod.
        pod: Pod,
    },
    /// Another interface of the pod has the device.
    #[error(
        "device {device} is used by another interface of pod {pod}: each interface needs its own, so request as many {resource} as the pod has interfaces on the network",
        resource = resource_name(device.network())
    )]
    InUse {
        /// The device.
        device: DeviceId,
        /// The pod.
        pod: Pod,
    },
    /// The pod has no directory for the socket.
    #[error(
        "pod {pod} has neither an unused device of {resource} nor an emptyDir volume \"{volume}\": request `{resource}: 1` in the limits of the container that uses the interface, or add `volumes: [{{name: {volume}, emptyDir: {{}}}}]` to the pod and mount it there, for example at /run/usnet",
        resource = resource_name(network)
    )]
    NoDeviceOrVolume {
        /// The pod.
        pod: Pod,
        /// The network.
        network: NetworkName,
        /// The name of the volume.
        volume: Box<str>,
    },
}

impl DeviceAllocationError {
    /// The CNI code.
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
///
/// # Errors
/// When `runtimeConfig` is not an object.
pub fn requested_device(configuration: &Configuration) -> Result<Option<&str>, ConfigurationError> {
    let by_capability = configuration.runtime()?.and_then(|all| all.get("deviceID")).and_then(|id| id.as_str());
    Ok(configuration.device_id()?.or(by_capability).filter(|id| !id.is_empty()))
}

/// The devices of a network that kubelet allocated to a pod; none when kubelet has no checkpoint.
///
/// # Errors
/// When kubelet's file cannot be read.
pub fn allocated(
    roots: &NodePaths,
    pod: &PodUid,
    network: &NetworkName,
) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    let resource = resource_name(network);
    let is_of_pod = |entry: &Entry| entry.pod == pod.as_str() && entry.resource == resource;
    let mut found = read(roots, is_of_pod)?;
    found.retain(|id| id.network() == network);
    Ok(found)
}

/// The devices of all networks that kubelet allocated to any pod.
///
/// # Errors
/// As [`allocated`].
pub fn all_allocated(roots: &NodePaths) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    read(roots, |_| true)
}

fn read(roots: &NodePaths, selects: impl Fn(&Entry) -> bool) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    let path = roots.kubelet_device_plugins().join(CHECKPOINT);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        read => read.map_err(|source| DeviceAllocationError::Read { path: path.clone(), source })?,
    };
    parse(&text, selects).map_err(|source| DeviceAllocationError::Format { path, source })
}

/// The device for an interface: the requested one, or else the first unused one; none when the pod
/// has none left.
///
/// # Errors
/// When the requested device is not allocated to the pod, or `used` by another interface.
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

/// Format: `pkg/kubelet/cm/devicemanager/checkpoint` of Kubernetes since 1.20.
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
    /// By NUMA node, which is -1 for devices without one.
    #[serde(rename = "DeviceIDs")]
    devices: Option<BTreeMap<String, Vec<String>>>,
}

#[cfg(test)]
mod tests;
