//! kubelet's checkpoint of the devices that are allocated to pods.

use super::TestNode;
use super::pod::Pod;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

impl TestNode {
    pub(crate) fn device_checkpoint(&self) -> PathBuf {
        self.paths.kubelet_device_plugins().join("kubelet_internal_checkpoint")
    }

    /// Writes kubelet's checkpoint: these pods have these devices of a network.
    pub(crate) fn allocate_devices(&self, network: &str, allocated: &[(&Pod, &[&str])]) {
        let entry = |(pod, devices): &(&Pod, &[&str])| {
            json!({"PodUID": pod.uid, "ContainerName": "main", "ResourceName": format!("usnet.dev/{network}"),
                "DeviceIDs": {"-1": devices}, "AllocResp": ""})
        };
        let entries: Vec<Value> = allocated.iter().map(entry).collect();
        let text = json!({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 0}).to_string();
        fs::create_dir_all(self.paths.kubelet_device_plugins()).unwrap();
        fs::write(self.device_checkpoint(), text).unwrap();
    }
}
