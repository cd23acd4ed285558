//! Networks as resources, told to a kubelet that comes, goes and refuses.

use crate::kubelet::Kubelet;
use crate::node::{network, until};
use crate::running_agent::RunningAgent;
use crate::world::World;
use std::fs;
use usnet_crds::{DevicePlugin, NodeNetwork, Phase};

fn counted(name: &str, devices: i64) -> NodeNetwork {
    NodeNetwork { device_plugin: Some(DevicePlugin::try_from(devices).unwrap()), ..network(name) }
}

#[test]
fn kubelet_hears_of_networks_that_are_resources_and_of_no_other() {
    let world = World::start();
    let kubelet = Kubelet::start(&world.roots);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[counted("blue", 2), network("green")]);
    kubelet.await_devices("blue", &["blue-0 Healthy", "blue-1 Healthy"]);
    world.wait_until_programmed("green");
    let told: Vec<_> = kubelet.registered();
    assert!(told.iter().all(|told| told.resource_name == "usnet.dev/blue" && told.version == "v1beta1"), "{told:?}");

    agent.tell(2, &[NodeNetwork { phase: Phase::Draining, ..counted("blue", 2) }]);
    kubelet.await_devices("blue", &["blue-0 Unhealthy", "blue-1 Unhealthy"]);
    agent.tell(3, &[counted("blue", 1)]);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
    agent.tell(4, &[]);
    kubelet.await_none("blue");
    let left = fs::read_dir(world.roots.kubelet_device_plugins()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["kubelet.sock"]);
}

#[test]
fn a_device_has_an_empty_folder_and_its_resource_stays_until_that_is_gone() {
    let world = World::start();
    let kubelet = Kubelet::start(&world.roots);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[counted("blue-2", 16)]);
    until("a device", || kubelet.allocate("blue-2", &["blue-2-10"]).ok());
    let folder = world.roots.devices().join("blue-2-10");
    fs::write(folder.join("left"), "by an earlier pod").unwrap();
    let given = kubelet.allocate("blue-2", &["blue-2-3", "blue-2-10"]).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(given.envs["USNET_DEVICES_BLUE_2"], "/run/usnet.dev/blue-2-10,/run/usnet.dev/blue-2-3");
    assert_eq!(given.annotations["usnet.dev/blue-2"], "blue-2-10,blue-2-3");
    let mount = &given.mounts[0];
    assert_eq!((mount.host_path.as_str(), mount.read_only), (folder.to_str().unwrap(), false));
    assert_eq!(mount.container_path, "/run/usnet.dev/blue-2-10");
    for foreign in ["blue-2-16", "blue-0", "../blue-2-1", ""] {
        assert!(kubelet.allocate("blue-2", &[foreign]).is_err(), "{foreign}");
    }

    // Kubelet starts no container of a pod again whose resource it has forgotten.
    agent.tell(2, &[]);
    kubelet.await_devices("blue-2", &["blue-2-3 Unhealthy", "blue-2-10 Unhealthy"]);
    fs::remove_dir(world.roots.devices().join("blue-2-3")).unwrap();
    kubelet.await_devices("blue-2", &["blue-2-10 Unhealthy"]);
    fs::remove_dir(folder).unwrap();
    kubelet.await_none("blue-2");
}

#[test]
fn kubelet_is_told_again_whenever_it_starts() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    // There is none yet.
    agent.tell(1, &[counted("blue", 1)]);
    world.wait_until_programmed("blue");
    for _ in 0..3 {
        let kubelet = Kubelet::start(&world.roots);
        kubelet.await_devices("blue", &["blue-0 Healthy"]);
        assert!(kubelet.allocate("blue", &["blue-0"]).is_ok());
    }
}

#[test]
fn a_kubelet_that_refuses_is_asked_again() {
    let world = World::start();
    let refusing = Kubelet::refusing(&world.roots);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[counted("blue", 1)]);
    until("two tries", || (refusing.registered().len() >= 2).then_some(()));
    drop(refusing);
    Kubelet::start(&world.roots).await_devices("blue", &["blue-0 Healthy"]);
}

#[test]
fn a_new_agent_offers_what_the_last_one_did() {
    let world = World::start();
    let kubelet = Kubelet::start(&world.roots);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[counted("blue", 1)]);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
    drop(agent);
    kubelet.await_none("blue");
    // It knows what the node should have before anybody tells.
    let _agent = RunningAgent::start(&world.roots);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
}
