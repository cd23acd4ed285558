//! Finds the folder in which a pod's program sees its sockets. Pure.

use k8s_openapi::api::core::v1::{Pod, Volume, VolumeMount};
use std::path::{Path, PathBuf};
use usnet_crds::DeviceId;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_dataplane::legacy_annotation::USUAL_MAPPED_DIR;

/// The names of volumes that the plugin uses. The first that exists counts.
const VOLUMES: [&str; 2] = ["usnet", "shared-dir"];

/// Returns the folder that the pod's program sees, with a trailing `/`, because readers append the
/// socket's name directly. `source` is the folder of the node that is mounted there, if that is not
/// a volume of the pod.
///
/// As with the Userspace CNI (Intel), the first container that mounts the folder counts.
pub(super) fn mapped_dir(pod: &Pod, source: Option<&Path>) -> String {
    let found = match source {
        None => of_volume(pod),
        Some(source) => of_folder(pod, source).or_else(|| of_empty_dir(pod, source)).or_else(|| of_device(source)),
    };
    let folder = found.unwrap_or_else(|| USUAL_MAPPED_DIR.into());
    format!("{}/", folder.to_string_lossy().trim_end_matches('/'))
}

fn of_volume(pod: &Pod) -> Option<PathBuf> {
    let name = VOLUMES
        .into_iter()
        .find(|name| volumes(pod).any(|volume| volume.name == *name && volume.empty_dir.is_some()))?;
    mounts(pod).find(|mount| mount.name == name).map(|mount| PathBuf::from(&mount.mount_path))
}

/// The pod sees the folder through a hostPath volume of this folder or of a parent folder.
fn of_folder(pod: &Pod, source: &Path) -> Option<PathBuf> {
    mounts(pod).find_map(|mount| {
        let volume = volumes(pod).find(|volume| volume.name == mount.name)?;
        let inside = source.strip_prefix(&volume.host_path.as_ref()?.path).ok()?;
        Some(Path::new(&mount.mount_path).join(inside))
    })
}

/// The folder is the emptyDir volume that the network of the pod names.
fn of_empty_dir(pod: &Pod, source: &Path) -> Option<PathBuf> {
    let is_empty_dir = source.parent()?.file_name()? == "kubernetes.io~empty-dir";
    let name = source.file_name()?.to_str().filter(|_| is_empty_dir)?;
    mounts(pod).find(|mount| mount.name == name).map(|mount| PathBuf::from(&mount.mount_path))
}

/// kubelet mounts the folder of a device itself.
fn of_device(source: &Path) -> Option<PathBuf> {
    let device: DeviceId = source.file_name()?.to_str()?.parse().ok()?;
    Some(Path::new(CONTAINER_FOLDER).join(device.to_string()))
}

fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten())
}

/// The mounts of whole volumes.
fn mounts(pod: &Pod) -> impl Iterator<Item = &VolumeMount> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mounts = containers.flat_map(|container| container.volume_mounts.iter().flatten());
    mounts.filter(|mount| mount.sub_path.is_none() && mount.sub_path_expr.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(volumes: &Value, mounts: &[Value]) -> Pod {
        let containers: Vec<Value> = mounts.iter().map(|mounts| json!({"name": "c", "volumeMounts": mounts})).collect();
        serde_json::from_value(json!({"spec": {"volumes": volumes, "containers": containers}})).unwrap()
    }

    #[test]
    fn the_first_containers_mount_of_the_volume_counts_with_a_slash_behind_it() {
        let older = json!([{"name": "shared-dir", "emptyDir": {}}]);
        let mount = |name: &str, path: &str| json!([{"name": name, "mountPath": path}]);
        assert_eq!(mapped_dir(&pod(&older, &[mount("shared-dir", "/a"), mount("shared-dir", "/b")]), None), "/a/");
        assert_eq!(mapped_dir(&pod(&older, &[mount("shared-dir", "/a/")]), None), "/a/");
        assert_eq!(mapped_dir(&pod(&older, &[json!([]), mount("shared-dir", "/b")]), None), "/b/");
        let part = json!([{"name": "shared-dir", "mountPath": "/part", "subPath": "x"}]);
        for nowhere in [json!([]), part, mount("other", "/x")] {
            assert_eq!(mapped_dir(&pod(&older, &[nowhere]), None), "/var/lib/cni/usrspcni/");
        }
        let both = json!([{"name": "shared-dir", "emptyDir": {}}, {"name": "usnet", "emptyDir": {}}]);
        let mounts = json!([{"name": "shared-dir", "mountPath": "/a"}, {"name": "usnet", "mountPath": "/run/usnet"}]);
        assert_eq!(mapped_dir(&pod(&both, &[mounts]), None), "/run/usnet/");
    }

    #[test]
    fn a_folder_of_the_node_is_found_below_the_volume_that_shows_it() {
        let volumes = json!([{"name": "x", "hostPath": {"path": "/var/run/old"}}, {"name": "y", "hostPath": {"path": "/var/run/older"}}]);
        let pod = pod(&volumes, &[json!([{"name": "y", "mountPath": "/y"}, {"name": "x", "mountPath": "/sockets"}])]);
        assert_eq!(mapped_dir(&pod, Some(Path::new("/var/run/old/ab12cd34ab12"))), "/sockets/ab12cd34ab12/");
        assert_eq!(mapped_dir(&pod, Some(Path::new("/elsewhere/ab12cd34ab12"))), "/var/lib/cni/usrspcni/");
        assert_eq!(mapped_dir(&pod, Some(Path::new("/run/usnet/devices/blue-3"))), "/run/usnet.dev/blue-3/");
    }
}
