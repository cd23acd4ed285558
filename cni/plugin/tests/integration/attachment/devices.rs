//! Pods with a device of kubelet, and their sockets in its folder.

use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::wait::await_that;
use crate::support::{NETWORK, NETWORK_NAMESPACE, TestNode, configuration, with_result};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use usnet_crds::{DevicePlugin, NodeNetwork};
use usnet_plugin::attachment::pod_directory::allocate_device;
use usnet_plugin::attachment::{attach, detach};

on_each_engine! {
    a_pod_without_a_volume_has_its_socket_in_its_device,
    a_second_interface_has_a_second_device,
    interfaces_of_one_call_have_a_device_each,
    a_pod_keeps_its_device_when_the_network_is_no_resource_any_more,
    a_device_that_is_not_the_pods_is_rejected,
    without_a_device_the_volume_is_used,
    a_device_reallocated_to_another_pod_is_kept,
    files_left_in_a_device_folder_are_removed_with_it,
    an_unreadable_checkpoint_of_kubelet_is_named,
    nothing_is_left_wherever_add_or_del_was_killed,
    running_containers_see_the_interface_or_add_is_rejected,
}

const COUNTED: &str = "counted";

fn program(node: &TestNode) -> NodeNetwork {
    let network = node.program_network(COUNTED, None);
    let network = NodeNetwork { device_plugin: Some(DevicePlugin::default()), ..network };
    node.publish(network.clone());
    network
}

/// A pod without a volume.
fn pod(node: &TestNode, name: &str) -> Pod {
    let pod = node.pod(name);
    fs::remove_dir(&pod.volume).unwrap();
    pod
}

fn allocate(node: &TestNode, allocated: &[(&Pod, &[&str])]) {
    node.allocate_devices(COUNTED, allocated);
}

/// The configuration that Multus passes for a NAD with a resource.
fn with_device(device: &str) -> Value {
    let mut configuration = configuration(COUNTED);
    configuration["deviceID"] = json!(device);
    configuration["runtimeConfig"] = json!({"deviceID": device});
    configuration
}

fn folder(node: &TestNode, device: &str) -> PathBuf {
    node.paths.devices().join(device)
}

#[track_caller]
fn assert_nothing_left(node: &TestNode) {
    assert_eq!(fs::read_dir(node.paths.devices()).map(Iterator::count).unwrap_or(0), 0);
    assert_eq!(node.ports(COUNTED), Vec::<String>::new());
    node.assert_clean();
}

fn a_pod_without_a_volume_has_its_socket_in_its_device(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-7"])]);
    for (container, configuration) in [("1", with_device("counted-7")), ("2", configuration(COUNTED))] {
        let pod = Pod { container: container.repeat(64), ..pod.clone() };
        let result = node.call("ADD", &pod, "net1", &configuration).result();
        let socket = PathBuf::from(result["interfaces"][0]["socketPath"].as_str().unwrap());
        let folder = folder(node, "counted-7");
        let description: Value = serde_json::from_slice(&fs::read(folder.join("net1.json")).unwrap()).unwrap();
        assert_eq!(
            (description["network"].as_str(), description["socket"].as_str()),
            (Some(COUNTED), Some("net1.sock"))
        );
        assert!(socket.with_file_name("net1.json").exists(), "the engine sees another folder than the pod");
        let mounts = node.mounts();
        for path in [folder.as_path(), socket.parent().unwrap()] {
            let (_, options) = mounts.iter().find(|(mount, _)| mount == path).expect("a mount");
            for option in ["nosymfollow", "nosuid", "nodev", "noexec"] {
                assert!(options.contains(option), "{}: {options:?}", path.display());
            }
        }
        // The programs of a pod need not be root.
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&folder).unwrap().permissions());
        assert_eq!(mode & 0o7777, 0o777);
        node.call("CHECK", &pod, "net1", &with_result(&configuration, &result)).assert_done();
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        assert_nothing_left(node);
    }
}

fn a_pod_keeps_its_device_when_the_network_is_no_resource_any_more(node: &mut TestNode) {
    let network = program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-0"])]);
    node.call("ADD", &pod, "net1", &configuration(COUNTED)).result();
    node.publish(NodeNetwork { device_plugin: None, ..network });
    let restarted = pod.restarted();
    node.call("ADD", &restarted, "net1", &configuration(COUNTED)).result();
    assert!(folder(node, "counted-0").join("net1.json").exists());
    node.call("DEL", &pod, "net1", &configuration(COUNTED)).assert_done();
    assert!(folder(node, "counted-0").join("net1.json").exists());
    node.call("DEL", &restarted, "net1", &configuration(COUNTED)).assert_done();
    assert_nothing_left(node);
}

fn a_second_interface_has_a_second_device(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-1", "counted-0"])]);
    for interface in ["net1", "net2"] {
        node.call("ADD", &pod, interface, &configuration(COUNTED)).result();
    }
    for (device, interface) in [("counted-0", "net1"), ("counted-1", "net2")] {
        let found: Vec<_> =
            fs::read_dir(folder(node, device)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(found.iter().all(|name| name.to_str().unwrap().starts_with(interface)), "{device}: {found:?}");
    }
    let message = node.call("ADD", &pod, "net3", &configuration(COUNTED)).message(102);
    assert!(message.contains("usnet.dev/counted") && message.contains("emptyDir"), "{message}");
    let message = node.call("ADD", &pod, "net3", &with_device("counted-1")).message(7);
    assert!(message.contains("used by another interface"), "{message}");
    node.call("DEL", &pod, "net1", &configuration(COUNTED)).assert_done();
    assert!(!folder(node, "counted-0").exists() && folder(node, "counted-1").join("net2.json").exists());
    node.call("DEL", &pod, "net2", &configuration(COUNTED)).assert_done();
    assert_nothing_left(node);
}

/// Without Multus one call attaches all: the device of the second interface depends on that of the
/// first.
fn interfaces_of_one_call_have_a_device_each(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-0", "counted-1"])]);
    let annotations = json!({"usnet.dev/networks": "counted,counted"});
    let list = json!({
        "cniVersion": "1.1.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations",
        "runtimeConfig": {"io.kubernetes.cri.pod-annotations": annotations},
    });
    node.call("ADD", &pod, "eth0", &list).result();
    for (device, interface) in [("counted-0", "net1"), ("counted-1", "net2")] {
        assert!(folder(node, device).join(format!("{interface}.json")).exists(), "{device}");
    }
    node.call("DEL", &pod, "eth0", &list).assert_done();
    assert_nothing_left(node);
}

fn a_device_that_is_not_the_pods_is_rejected(node: &mut TestNode) {
    program(node);
    let (pod, other) = (node.pod("a"), pod(node, "b"));
    allocate(node, &[(&pod, &["counted-0"]), (&other, &["counted-1"])]);
    for device in ["counted-1", "counted-2", "../x", "/etc", "blue-0", "counted-00"] {
        let message = node.call("ADD", &pod, "net1", &with_device(device)).message(7);
        assert!(message.contains("which kubelet did not allocate"), "{device}: {message}");
        assert_nothing_left(node);
    }
    fs::remove_file(node.device_checkpoint()).unwrap();
    node.call("ADD", &pod, "net1", &with_device("counted-0")).message(7);
    // On a network without a resource the device of the annotation is ignored.
    let mut plain = configuration(NETWORK);
    plain["deviceID"] = json!("anything");
    node.call("ADD", &pod, "net1", &plain).result();
    node.call("DEL", &pod, "net1", &plain).assert_done();
    assert_nothing_left(node);
}

fn without_a_device_the_volume_is_used(node: &mut TestNode) {
    program(node);
    let with_volume = node.pod("a");
    allocate(node, &[]);
    node.call("ADD", &with_volume, "net1", &configuration(COUNTED)).result();
    assert_eq!(with_volume.description("net1")["network"], COUNTED);
    node.call("DEL", &with_volume, "net1", &configuration(COUNTED)).assert_done();
    assert_nothing_left(node);
}

/// kubelet reallocates a device when the containers of a pod have ended, before the sandbox ends.
fn a_device_reallocated_to_another_pod_is_kept(node: &mut TestNode) {
    program(node);
    let (old, new) = (pod(node, "old"), pod(node, "new"));
    allocate(node, &[(&old, &["counted-0"])]);
    node.call("ADD", &old, "net1", &configuration(COUNTED)).result();
    allocate(node, &[(&new, &["counted-0"])]);
    node.call("ADD", &new, "net1", &configuration(COUNTED)).result();
    fs::write(folder(node, "counted-0").join("of the new one"), "x").unwrap();
    node.call("DEL", &old, "net1", &configuration(COUNTED)).assert_done();
    assert_eq!(fs::read_to_string(folder(node, "counted-0").join("of the new one")).unwrap(), "x");
    assert!(folder(node, "counted-0").join("net1.json").exists());
    node.call("DEL", &new, "net1", &configuration(COUNTED)).assert_done();
    assert_nothing_left(node);
}

fn files_left_in_a_device_folder_are_removed_with_it(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-0"])]);
    let kept = Path::new("/run/kept");
    fs::write(kept, "untouched").unwrap();
    for _ in 0..2 {
        node.call("ADD", &pod, "net1", &configuration(COUNTED)).result();
        let folder = folder(node, "counted-0");
        let found: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(found.iter().all(|name| name.to_str().unwrap().starts_with("net1.")), "{found:?}");
        fs::create_dir_all(folder.join("deep/deeper")).unwrap();
        symlink(kept, folder.join("link")).unwrap();
        // A pod cannot fill the node's memory.
        assert!(fs::write(folder.join("large"), vec![1; 4 << 20]).is_err());
        node.call("DEL", &pod, "net1", &configuration(COUNTED)).assert_done();
        assert_nothing_left(node);
    }
    assert_eq!(fs::read_to_string(kept).unwrap(), "untouched");
}

fn an_unreadable_checkpoint_of_kubelet_is_named(node: &mut TestNode) {
    program(node);
    let pod = node.pod("a");
    allocate(node, &[]);
    for text in ["", "{", "{\"Data\": []}"] {
        fs::write(node.device_checkpoint(), text).unwrap();
        let message = node.call("ADD", &pod, "net1", &configuration(COUNTED)).message(5);
        assert!(message.contains("kubelet_internal_checkpoint"), "{message}");
        assert_nothing_left(node);
    }
}

/// Runs the first `added` steps of ADD and, if those are all, the first `removed` steps of DEL.
fn interrupt(node: &TestNode, pod: &Pod, added: usize, removed: usize) {
    node.run_add_steps(pod, "net1", &configuration(COUNTED), &attach::Step::ALL[..added]);
    if added == attach::Step::ALL.len() {
        node.run_del_steps(pod, "net1", &detach::Step::ALL[..removed]);
    }
}

fn nothing_is_left_wherever_add_or_del_was_killed(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    allocate(node, &[(&pod, &["counted-0"])]);
    let (added, removed) = (attach::Step::ALL.len(), detach::Step::ALL.len());
    for (added, removed) in (0..added).map(|added| (added, 0)).chain((0..=removed).map(|removed| (added, removed))) {
        interrupt(node, &pod, added, removed);
        node.call("DEL", &pod, "net1", &configuration(COUNTED)).assert_done();
        assert_nothing_left(node);
        interrupt(node, &pod, added, removed);
        if (added, removed) != (attach::Step::ALL.len(), 0) {
            node.call("ADD", &pod, "net1", &configuration(COUNTED)).result();
        }
        node.call("DEL", &pod, "net1", &configuration(COUNTED)).assert_done();
        assert_nothing_left(node);
    }
}

/// A container of the pod, which has the folder of a device as it was when it was started.
struct Container(Child);

impl Container {
    fn start(node: &TestNode, device: &str) -> Self {
        let target = Path::new("/run/usnet.dev").join(device);
        let script = "mkdir -p $1 && mount --bind $0 $1 && touch $1/of-the-program && exec sleep 600";
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={NETWORK_NAMESPACE}"));
        command.args(["unshare", "--mount", "--propagation", "private", "sh", "-c", script]);
        let container = Self(command.arg(folder(node, device)).arg(&target).spawn().unwrap());
        await_that("the container runs", Duration::from_secs(20), || {
            container.path(device).join("of-the-program").exists()
        });
        container
    }

    fn path(&self, device: &str) -> PathBuf {
        Path::new("/proc").join(self.0.id().to_string()).join("root/run/usnet.dev").join(device)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn running_containers_see_the_interface_or_add_is_rejected(node: &mut TestNode) {
    program(node);
    let pod = pod(node, "a");
    let (with, without) = ("counted-0", "counted-1");
    allocate(node, &[(&pod, &[with, without])]);
    allocate_device(&node.paths, &with.parse().unwrap()).unwrap();
    fs::create_dir_all(folder(node, without)).unwrap();
    let containers = [with, without].map(|device| Container::start(node, device));
    assert!(
        fs::write(containers[0].path(with).join("large"), vec![1; 4 << 20]).is_err(),
        "it cannot fill the node's memory"
    );
    fs::remove_file(containers[0].path(with).join("large")).unwrap();

    node.call("ADD", &pod, "net1", &with_device(with)).result();
    assert!(containers[0].path(with).join("net1.json").exists(), "the container sees the interface");
    for _ in 0..2 {
        let message = node.call("ADD", &pod, "net2", &with_device(without)).message(102);
        assert!(message.contains("counted-1") && message.contains("delete the pod"), "{message}");
    }
    node.call("DEL", &pod, "net1", &with_device(with)).assert_done();
    node.call("ADD", &pod, "net1", &with_device(with)).message(102);
    drop(containers);
    // The next sandbox has new containers.
    node.call("ADD", &pod, "net1", &with_device(with)).result();
    node.call("DEL", &pod, "net1", &with_device(with)).assert_done();
    fs::remove_dir_all("/run/usnet.dev").unwrap();
    // The garbage collection removes the files of a pod that never attached.
    fs::remove_dir_all(folder(node, without)).unwrap();
    assert_nothing_left(node);
}
