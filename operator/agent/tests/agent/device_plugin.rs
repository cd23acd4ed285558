//! Networks as resources, registered with a kubelet that starts, stops and refuses.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::kubelet::Kubelet;
use crate::support::node::{Node, network, until};
use crate::support::running_agent::RunningAgent;
use std::fs;
use usnet_crds::{DevicePlugin, NodeNetwork, Phase};

fn counted(name: &str, devices: i64) -> NodeNetwork {
    NodeNetwork { device_plugin: Some(DevicePlugin::try_from(devices).unwrap()), ..network(name) }
}

#[test]
fn only_networks_that_are_resources_are_registered_with_kubelet() {
    let testbed = OvsTestbed::start();
    let kubelet = Kubelet::start(&testbed.paths);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[counted("blue", 2), network("green")]);
    kubelet.await_devices("blue", &["blue-0 Healthy", "blue-1 Healthy"]);
    testbed.wait_until_programmed("green");
    let registered: Vec<_> = kubelet.registered();
    assert!(
        registered
            .iter()
            .all(|registered| registered.resource_name == "usnet.dev/blue" && registered.version == "v1beta1"),
        "{registered:?}"
    );

    agent.set_spec(2, &[NodeNetwork { phase: Phase::Draining, ..counted("blue", 2) }]);
    kubelet.await_devices("blue", &["blue-0 Unhealthy", "blue-1 Unhealthy"]);
    agent.set_spec(3, &[counted("blue", 1)]);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
    agent.set_spec(4, &[]);
    kubelet.await_none("blue");
    let left = fs::read_dir(testbed.paths.kubelet_device_plugins()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["kubelet.sock"]);
}

#[test]
fn a_device_has_an_empty_folder_and_its_resource_stays_until_that_is_removed() {
    let testbed = OvsTestbed::start();
    let kubelet = Kubelet::start(&testbed.paths);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[counted("blue-2", 16)]);
    until("a device", || kubelet.allocate("blue-2", &["blue-2-10"]).ok());
    let folder = testbed.paths.devices().join("blue-2-10");
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

    // Kubelet restarts no container of a pod whose resource it has lost.
    agent.set_spec(2, &[]);
    kubelet.await_devices("blue-2", &["blue-2-3 Unhealthy", "blue-2-10 Unhealthy"]);
    fs::remove_dir(testbed.paths.devices().join("blue-2-3")).unwrap();
    kubelet.await_devices("blue-2", &["blue-2-10 Unhealthy"]);
    fs::remove_dir(folder).unwrap();
    kubelet.await_none("blue-2");
}

#[test]
fn resources_are_registered_again_whenever_kubelet_starts() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    // No kubelet runs yet.
    agent.set_spec(1, &[counted("blue", 1)]);
    testbed.wait_until_programmed("blue");
    for _ in 0..3 {
        let kubelet = Kubelet::start(&testbed.paths);
        kubelet.await_devices("blue", &["blue-0 Healthy"]);
        assert!(kubelet.allocate("blue", &["blue-0"]).is_ok());
    }
}

#[test]
fn a_registration_that_kubelet_refuses_is_retried() {
    let testbed = OvsTestbed::start();
    let refusing = Kubelet::refusing(&testbed.paths);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[counted("blue", 1)]);
    until("two tries", || (refusing.registered().len() >= 2).then_some(()));
    drop(refusing);
    Kubelet::start(&testbed.paths).await_devices("blue", &["blue-0 Healthy"]);
}

#[test]
fn a_new_agent_offers_what_the_last_one_did() {
    let testbed = OvsTestbed::start();
    let kubelet = Kubelet::start(&testbed.paths);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[counted("blue", 1)]);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
    drop(agent);
    kubelet.await_none("blue");
    // It has the spec of the node before it receives one.
    let _agent = RunningAgent::start(&testbed.paths);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
}

/// Kubelet admits the pods of a node before anything else runs there, and fails those permanently
/// whose devices are not healthy.
#[test]
fn after_a_reboot_devices_are_offered_before_the_engine_runs() {
    let node = Node::new(None, None);
    let kubelet = Kubelet::start(&node.paths);
    let agent = RunningAgent::start(&node.paths);
    agent.set_spec(1, &[counted("blue", 1)]);
    kubelet.await_devices("blue", &["blue-0 Unhealthy"]);
    // A network without a file counts as one from before a reboot.
    node.wait_until_unavailable("blue");
    drop(agent);
    kubelet.await_none("blue");
    let agent = RunningAgent::start(&node.paths);
    kubelet.await_devices("blue", &["blue-0 Unhealthy"]);
    drop(agent);
    kubelet.await_none("blue");

    fs::remove_dir_all(&node.paths.run).unwrap();
    let agent = RunningAgent::start(&node.paths);
    kubelet.await_devices("blue", &["blue-0 Healthy"]);
    agent.set_spec(2, &[NodeNetwork { phase: Phase::Draining, ..counted("blue", 1) }]);
    kubelet.await_devices("blue", &["blue-0 Unhealthy"]);
}
