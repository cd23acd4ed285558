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
    let roots = NodePaths::below(folder.path());
    let text = json!({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 1}).to_string();
    fs::create_dir_all(roots.kubelet_device_plugins()).unwrap();
    fs::write(roots.kubelet_device_plugins().join(CHECKPOINT), text).unwrap();
    (folder, roots)
}

fn parsed(entries: &serde_json::Value) -> Result<BTreeSet<DeviceId>, DeviceAllocationError> {
    let (_folder, roots) = node_with(entries);
    allocated(&roots, &pod().uid, &"blue".parse().unwrap())
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
    let (_folder, roots) = node_with(&entries);
    assert_eq!(all_allocated(&roots).unwrap(), ids(&all));
    assert_eq!(parsed(&json!(null)).unwrap(), ids(&[]));
    assert!(parsed(&json!([{"PodUID": "1-1", "ResourceName": "usnet.dev/blue", "DeviceIDs": ["blue-1"]}])).is_err());
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
