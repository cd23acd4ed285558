//! Computes the slices of a node from its networks. No IO.

use super::slice::{Attribute, Capacity, Device, Pool, RequestPolicy, ResourceSlice, SliceSpec, Taint};
use crate::claims::offered::{Offered, State};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use usnet_common::api::device_api::DRIVER;
use usnet_crds::{DeviceCount, DeviceId};

/// The maximum number of devices in a slice if any has taints; twice as many are allowed without.
const DEVICES_MAX: usize = 64;
/// The taint of a draining network.
const DRAINING: &str = "usnet.dev/draining";

/// Which fields of a slice the API server keeps; releases before 1.36 drop some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Support {
    /// Whether several claims can share a device, each with a part of its capacity.
    pub(super) shares: bool,
    /// Whether devices can have taints, which keep new pods away.
    pub(super) taints: bool,
}

impl Support {
    pub(super) const ALL: Self = Self { shares: true, taints: true };

    /// Reads the support from what the API server kept of a [`probe`].
    pub(super) fn of(kept: &ResourceSlice) -> Self {
        let device = kept.spec.devices.first();
        Self {
            shares: device.is_some_and(|device| device.allow_multiple_allocations == Some(true)),
            taints: device.is_some_and(|device| !device.taints.is_empty()),
        }
    }
}

/// Returns a slice with every field that some releases drop.
pub(super) fn probe(offered: &Offered, node: &str) -> ResourceSlice {
    let draining = Offered { state: State::Draining, ..offered.clone() };
    slices(&[draining], node, Support::ALL, 1).remove(0)
}

/// Returns the slices, in the order of their names.
pub(super) fn slices(offered: &[Offered], node: &str, support: Support, generation: i64) -> Vec<ResourceSlice> {
    let devices: Vec<Device> = offered.iter().flat_map(|network| devices(network, support)).collect();
    let chunks: Vec<&[Device]> = devices.chunks(DEVICES_MAX).collect();
    let count = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
    let slice = |(index, devices): (usize, &&[Device])| ResourceSlice {
        metadata: ObjectMeta { name: Some(format!("{node}-{DRIVER}-{index:02}")), ..ObjectMeta::default() },
        spec: SliceSpec {
            driver: DRIVER.to_owned(),
            node_name: node.to_owned(),
            pool: Pool { name: node.to_owned(), generation, resource_slice_count: count },
            devices: devices.to_vec(),
        },
    };
    chunks.iter().enumerate().map(slice).collect()
}

fn devices(network: &Offered, support: Support) -> Vec<Device> {
    let taints = match network.state {
        State::Available => Vec::new(),
        State::Draining if support.taints => {
            vec![Taint { key: DRAINING.to_owned(), effect: "NoSchedule".to_owned() }]
        }
        // Without the device, no new pod is placed here.
        State::Draining | State::Unavailable(_) => return Vec::new(),
    };
    let string = |text: &str| Attribute::String(text.to_owned());
    let attributes = [
        ("network", string(network.name.as_str())),
        ("engine", string(network.engine.traits().api_name)),
        ("portType", string(network.port_type.as_str())),
        ("mtu", Attribute::Int(network.mtu.get().into())),
    ];
    let numa_node = network.numa_node.map(|node| ("numaNode", Attribute::Int(node.into())));
    let attributes: BTreeMap<String, Attribute> =
        attributes.into_iter().chain(numa_node).map(|(name, value)| (name.to_owned(), value)).collect();
    let device =
        |name: String| Device { name, attributes: attributes.clone(), taints: taints.clone(), ..Device::default() };
    if !support.shares {
        return DeviceId::all(&network.name, network.ports).map(|id| device(id.to_string())).collect();
    }
    let one = "1".to_owned();
    let policy = RequestPolicy { default: one.clone(), valid_values: vec![one] };
    let capacity = Capacity { value: quantity(network.ports), request_policy: Some(policy) };
    vec![Device {
        capacity: [("ports".to_owned(), capacity)].into(),
        allow_multiple_allocations: Some(true),
        ..device(network.name.to_string())
    }]
}

/// Formats a quantity as the API server does, with a suffix for thousands: slices are compared with
/// what it stores.
fn quantity(ports: DeviceCount) -> String {
    let ports = i64::from(ports);
    let thousands = ports / 1000;
    if ports > 0 && thousands * 1000 == ports { format!("{thousands}k") } else { ports.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::offered::tests::available;
    use serde_json::json;

    const NEITHER: Support = Support { shares: false, taints: false };

    fn names(offered: &[Offered], support: Support) -> Vec<String> {
        let all = slices(offered, "node-a", support, 1);
        all.into_iter().flat_map(|slice| slice.spec.devices).map(|device| device.name).collect()
    }

    #[test]
    fn a_network_is_one_device_with_a_capacity() {
        let [slice] = slices(&[available("blue")], "node-a", Support::ALL, 3).try_into().unwrap();
        let expected = json!({
            "metadata": {"name": "node-a-usnet.dev-00"},
            "spec": {
                "driver": "usnet.dev", "nodeName": "node-a",
                "pool": {"name": "node-a", "generation": 3, "resourceSliceCount": 1},
                "devices": [{
                    "name": "blue", "allowMultipleAllocations": true,
                    "attributes": {
                        "network": {"string": "blue"}, "engine": {"string": "OVS"},
                        "portType": {"string": "VhostUser"}, "mtu": {"int": 1500},
                    },
                    "capacity": {"ports": {
                        "value": "2", "requestPolicy": {"default": "1", "validValues": ["1"]},
                    }},
                }],
            },
        });
        assert_eq!(serde_json::to_value(&slice).unwrap(), expected);
    }

    #[test]
    fn a_device_says_on_which_numa_node_the_nic_is() {
        let near = Offered { numa_node: Some(1), ..available("blue") };
        let [slice] = slices(&[near], "node-a", Support::ALL, 1).try_into().unwrap();
        assert_eq!(slice.spec.devices[0].attributes["numaNode"], Attribute::Int(1));
    }

    #[test]
    fn quantities_are_as_the_api_server_writes_them() {
        let quantity = |ports: i64| quantity(DeviceCount::try_from(ports).unwrap());
        assert_eq!([1, 999, 1000].map(quantity), ["1", "999", "1k"]);
    }

    #[test]
    fn without_shares_a_network_is_a_device_for_each_port() {
        assert_eq!(names(&[available("blue")], NEITHER), ["blue-0", "blue-1"]);
    }

    #[test]
    fn a_network_that_drains_is_tainted_or_left_out() {
        let draining = Offered { state: State::Draining, ..available("blue") };
        let [slice] = slices(std::slice::from_ref(&draining), "node-a", Support::ALL, 1).try_into().unwrap();
        assert_eq!(slice.spec.devices.first().unwrap().taints.first().unwrap().effect, "NoSchedule");
        assert_eq!(names(&[draining], NEITHER), [""; 0]);
        let broken = Offered { state: State::Unavailable("x".into()), ..available("blue") };
        assert_eq!(names(&[broken], Support::ALL), [""; 0]);
    }

    #[test]
    fn what_was_dropped_of_the_probe_is_not_supported() {
        let mut kept = probe(&available("blue"), "node-a");
        assert_eq!(Support::of(&kept), Support::ALL);
        let device = kept.spec.devices.first_mut().unwrap();
        (device.allow_multiple_allocations, device.taints) = (None, Vec::new());
        assert_eq!(Support::of(&kept), NEITHER);
    }

    #[test]
    fn many_devices_need_several_slices_of_one_pool() {
        let networks: Vec<Offered> = (0..40).map(|index| available(&format!("n{index}"))).collect();
        let all = slices(&networks, "node-a", NEITHER, 7);
        let sizes: Vec<usize> = all.iter().map(|slice| slice.spec.devices.len()).collect();
        assert_eq!(sizes, [64, 16]);
        assert!(all.iter().all(|slice| slice.spec.pool.resource_slice_count == 2 && slice.spec.pool.generation == 7));
    }
}
