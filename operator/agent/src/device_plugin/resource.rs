//! Computes which resources the node has, and which of their devices may be allocated to pods.
//! Pure.

use super::api::{Device, HEALTHY, NumaNode, TopologyInfo, UNHEALTHY};
use crate::reconcile::publish::Files;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{DeviceId, NetworkName, NodeNetwork, Phase};
use usnet_dataplane::network_file::NetworkFile;

/// One resource, as it is listed to kubelet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resource {
    pub devices: BTreeSet<DeviceId>,
    /// Whether the devices may be allocated to pods.
    pub is_healthy: bool,
    /// Whether a pod needs a folder for a device. Ports that are kernel devices need none.
    pub has_folders: bool,
    /// The NUMA node on which pods should be: that of the network's NIC.
    pub numa_node: Option<u32>,
}

impl Resource {
    /// The devices as they are listed to kubelet. An unhealthy device is not allocated; the pod
    /// that has it keeps running.
    pub(super) fn list(&self) -> Vec<Device> {
        let health = if self.is_healthy { HEALTHY } else { UNHEALTHY };
        let topology = || Some(TopologyInfo { nodes: vec![NumaNode { id: self.numa_node?.into() }] });
        let device = |id: &DeviceId| Device { id: id.to_string(), health: health.to_owned(), topology: topology() };
        self.devices.iter().map(device).collect()
    }
}

/// Returns the resources of a node with these `networks` and `published` network files, where the
/// devices `in_use` are allocated to pods. The networks `rebooted` were programmed before the node
/// was restarted, and are expected to be programmed again.
///
/// A resource stays as long as a pod has a device of it, even if its network is deleted: without
/// the resource, kubelet would not restart containers of that pod.
pub(super) fn resources<'a>(
    networks: impl IntoIterator<Item = &'a NodeNetwork>,
    published: &Files,
    rebooted: &BTreeSet<NetworkName>,
    in_use: &BTreeSet<DeviceId>,
) -> BTreeMap<NetworkName, Resource> {
    let mut resources: BTreeMap<NetworkName, Resource> = BTreeMap::new();
    for network in networks {
        let Some(plugin) = network.device_plugin else { continue };
        let resource = Resource {
            devices: DeviceId::all(&network.name, plugin.devices).collect(),
            is_healthy: network.phase == Phase::Active
                && (rebooted.contains(&network.name) || accepts_pods(published.get(&network.name))),
            has_folders: network.needs_folder(),
            numa_node: published.get(&network.name).and_then(NetworkFile::numa_node),
        };
        resources.insert(network.name.clone(), resource);
    }
    for id in in_use {
        let resource = resources.entry(id.network().clone());
        let resource = resource.or_insert_with(|| Resource { has_folders: true, ..Resource::default() });
        resource.devices.insert(id.clone());
    }
    resources
}

/// Whether the plugin attaches pods that have a device.
fn accepts_pods(file: Option<&NetworkFile>) -> bool {
    matches!(file, Some(NetworkFile::Programmed(programmed))
        if programmed.network.phase == Phase::Active && programmed.network.device_plugin.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;
    use usnet_crds::DevicePlugin;
    use usnet_dataplane::memif::MemifSocketIds;
    use usnet_dataplane::network_file::ProgrammedNetwork;

    fn counted(name: &str, devices: i64) -> NodeNetwork {
        NodeNetwork { device_plugin: Some(DevicePlugin::try_from(devices).unwrap()), ..network(name) }
    }

    fn programmed(network: &NodeNetwork) -> Files {
        let file = NetworkFile::Programmed(ProgrammedNetwork {
            version: ProgrammedNetwork::VERSION,
            network: network.clone().into(),
            engine_socket: "/run/x".into(),
            epoch: 1,
            memif_socket_ids: MemifSocketIds::default(),
            checksum_offload: false,
            numa_node: None,
        });
        [(network.name.clone(), file)].into()
    }

    fn listed(networks: &[NodeNetwork], published: &Files, in_use: &[&str]) -> Vec<String> {
        let in_use = in_use.iter().map(|id| id.parse().unwrap()).collect();
        let all = resources(networks, published, &BTreeSet::new(), &in_use);
        let devices = all.values().flat_map(Resource::list);
        devices.map(|device| format!("{} {}", device.id, device.health)).collect()
    }

    #[test]
    fn devices_are_healthy_while_the_network_is_programmed() {
        let blue = counted("blue", 2);
        let networks = [blue.clone(), network("red")];
        assert_eq!(listed(&networks, &programmed(&blue), &[]), ["blue-0 Healthy", "blue-1 Healthy"]);
        assert_eq!(listed(&networks, &Files::new(), &[]), ["blue-0 Unhealthy", "blue-1 Unhealthy"]);
        let name = blue.name;
        let unavailable = NetworkFile::Unavailable { name: name.clone(), reason: "X".into(), message: "y".into() };
        for file in [unavailable, NetworkFile::Draining { name: name.clone() }] {
            assert_eq!(listed(&networks, &[(name.clone(), file)].into(), &[])[0], "blue-0 Unhealthy");
        }
    }

    #[test]
    fn devices_are_where_the_nic_of_the_network_is() {
        let blue = counted("blue", 1);
        let at = |numa_node: Option<u32>| {
            let mut published = programmed(&blue);
            if let Some(NetworkFile::Programmed(file)) = published.get_mut(&blue.name) {
                file.numa_node = numa_node;
            }
            let all = resources([&blue], &published, &BTreeSet::new(), &BTreeSet::new());
            all.values().flat_map(Resource::list).next().unwrap().topology
        };
        assert_eq!(at(Some(1)), Some(TopologyInfo { nodes: vec![NumaNode { id: 1 }] }));
        assert_eq!(at(None), None, "kubelet places it anywhere");
    }

    /// Kubelet fails a pod permanently whose devices are not healthy, and admits it before engines
    /// run.
    #[test]
    fn after_a_reboot_devices_are_healthy_before_the_network_is_programmed() {
        let (blue, red) = (counted("blue", 1), counted("red", 1));
        let draining = NodeNetwork { phase: Phase::Draining, ..counted("green", 1) };
        let rebooted = [&blue, &draining].map(|network| network.name.clone()).into();
        let reason = NetworkFile::Unavailable { name: blue.name.clone(), reason: "X".into(), message: "y".into() };
        for published in [Files::new(), [(blue.name.clone(), reason)].into()] {
            let all = resources([&blue, &red, &draining], &published, &rebooted, &BTreeSet::new());
            let healthy: Vec<_> = all.values().map(|resource| resource.is_healthy).collect();
            assert_eq!(healthy, [true, false, false]);
        }
    }

    #[test]
    fn a_network_being_deleted_accepts_no_pods_although_its_file_still_exists() {
        let blue = counted("blue", 1);
        let draining = NodeNetwork { phase: Phase::Draining, ..blue.clone() };
        assert_eq!(listed(&[draining], &programmed(&blue), &[]), ["blue-0 Unhealthy"]);
    }

    /// Until the network file says so, the CNI plugin does not read the pod's device.
    #[test]
    fn a_network_that_became_a_resource_waits_for_its_file() {
        let blue = counted("blue", 1);
        assert_eq!(listed(std::slice::from_ref(&blue), &programmed(&network("blue")), &[]), ["blue-0 Unhealthy"]);
    }

    #[test]
    fn an_allocated_device_stays_whatever_happens_to_its_network() {
        assert_eq!(listed(&[], &Files::new(), &["blue-7", "red-0"]), ["blue-7 Unhealthy", "red-0 Unhealthy"]);
        assert_eq!(listed(&[network("blue")], &Files::new(), &["blue-7"]), ["blue-7 Unhealthy"]);
        let blue = counted("blue", 1);
        let fewer = listed(std::slice::from_ref(&blue), &programmed(&blue), &["blue-7"]);
        assert_eq!(fewer, ["blue-0 Healthy", "blue-7 Healthy"]);
    }
}
