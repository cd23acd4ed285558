//! Ports on which Open vSwitch listens: the pod gets the socket alone, and nothing else of the
//! switch.

use crate::support::engine::on_open_vswitch;
use crate::support::pod::Pod;
use crate::support::wait::await_that;
use crate::support::{NETWORK, TestNode, port_types};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use usnet_crds::{DevicePlugin, NodeNetwork};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::ovs::take_again;

on_open_vswitch! {
    a_pod_connects_to_the_socket_of_its_port_and_sees_no_other,
    a_pod_with_a_device_finds_its_socket_without_a_link,
    a_socket_at_another_place_is_an_error_that_names_it,
    a_pod_whose_containers_run_gets_no_socket_that_they_would_not_see,
}

fn run_directory(node: &TestNode) -> PathBuf {
    node.engine.socket().parent().unwrap().to_owned()
}

/// The folders of ports below the switch's own.
fn folders(node: &TestNode) -> Vec<PathBuf> {
    let found = fs::read_dir(run_directory(node).join("usnet")).into_iter().flatten();
    found.map(|entry| entry.unwrap().path()).collect()
}

fn program(node: &TestNode) {
    node.program_network_with(NETWORK, &port_types::vhost_user_server(), None);
}

fn is_listening(path: &Path) -> bool {
    UnixStream::connect(path).is_ok()
}

fn a_pod_connects_to_the_socket_of_its_port_and_sees_no_other(node: &mut TestNode) {
    program(node);
    let pods = ["p", "q"].map(|name| node.pod(name));
    for pod in &pods {
        let result = node.add(pod, "net1").result();
        let socket = pod.volume.join("net1.sock");
        assert!(
            is_listening(&socket) && is_listening(Path::new(result["interfaces"][0]["socketPath"].as_str().unwrap()))
        );
        assert_eq!(
            (&pod.description("net1")["role"], &pod.description("net1")["socket"]),
            (&json!("client"), &json!("net1.sock"))
        );
        let folder = socket.canonicalize().unwrap().parent().unwrap().to_owned();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the socket is alone");
        assert!(fs::write(folder.join("x"), "").is_err(), "the pod changes nothing there");
        node.check(pod, "net1", &result).assert_done();
    }
    // The next switch creates them again.
    node.open_vswitch().kill_vswitchd().unwrap();
    assert!(!is_listening(&pods[0].volume.join("net1.sock")));
    node.open_vswitch().start_vswitchd().unwrap();
    await_that("the sockets are there again", Duration::from_secs(20), || {
        assert!(take_again(&run_directory(node)).is_empty());
        pods.iter().all(|pod| is_listening(&pod.volume.join("net1.sock")))
    });
    node.del(&pods[0], "net1").assert_done();
    assert_eq!(fs::read_dir(&pods[0].volume).unwrap().count(), 0);
    assert!(is_listening(&pods[1].volume.join("net1.sock")));
    // A new sandbox has its socket before the former one is detached.
    let again = pods[1].restarted();
    node.add(&again, "net1").result();
    node.del(&pods[1], "net1").assert_done();
    assert!(is_listening(&again.volume.join("net1.sock")));
    // The volume may be gone, as after kubelet removed the pod.
    let mounted = folders(node);
    assert_eq!(mounted.len(), 1, "{mounted:?}");
    let point = again.volume.join(format!(".{}", mounted[0].file_name().unwrap().display()));
    nix::mount::umount2(&point, nix::mount::MntFlags::MNT_DETACH).unwrap();
    fs::remove_dir_all(&again.volume).unwrap();
    node.del(&again, "net1").assert_done();
    assert_eq!(folders(node), Vec::<PathBuf>::new());
    node.assert_clean();
}

/// The file system of a device is mounted without links, also in the container.
fn a_pod_with_a_device_finds_its_socket_without_a_link(node: &mut TestNode) {
    let network = node.program_network_with(NETWORK, &port_types::vhost_user_server(), None);
    node.publish(NodeNetwork { device_plugin: Some(DevicePlugin::default()), ..network });
    let pod = node.pod("p");
    fs::remove_dir(&pod.volume).unwrap();
    node.allocate_devices(NETWORK, &[(&pod, &["blue-0"])]);
    let result = node.add(&pod, "net1").result();
    let folder = node.paths.devices().join("blue-0");
    let description: Value = serde_json::from_slice(&fs::read(folder.join("net1.json")).unwrap()).unwrap();
    assert!(is_listening(&folder.join(description["socket"].as_str().unwrap())), "{description}");
    assert!(!is_listening(&folder.join("net1.sock")));
    node.check(&pod, "net1", &result).assert_done();
    node.del(&pod, "net1").assert_done();
    assert_eq!((folders(node), fs::read_dir(node.paths.devices()).unwrap().count()), (Vec::new(), 0));
    node.assert_clean();
}

fn a_socket_at_another_place_is_an_error_that_names_it(node: &mut TestNode) {
    program(node);
    let elsewhere = run_directory(node).join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    node.open_vswitch()
        .vsctl(&["--no-wait", "set", "Open_vSwitch", ".", "other_config:vhost-sock-dir=elsewhere"])
        .unwrap();
    node.open_vswitch().kill_vswitchd().unwrap();
    node.open_vswitch().start_vswitchd().unwrap();
    let message = node.add(&node.pod("p"), "net1").message(5);
    assert!(message.contains("vhost-sock-dir") && message.contains(run_directory(node).to_str().unwrap()), "{message}");
    assert_eq!(node.ports(NETWORK), Vec::<String>::new(), "it is rolled back");
    node.assert_clean();
}

fn a_pod_whose_containers_run_gets_no_socket_that_they_would_not_see(node: &mut TestNode) {
    program(node);
    let pod: Pod = node.pod("p");
    let volume = pod.volume.display();
    let script = format!("mount --bind {volume} /mnt && echo mounted && read _line");
    let namespace = format!("--net={}", node.network_namespace().display());
    let mut container = Command::new("nsenter");
    container.args([&namespace, "unshare", "--mount", "sh", "-c", &script]);
    let mut container = container.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(container.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "mounted\n");
    let message = node.add(&pod, "net1").message(102);
    assert!(message.contains("running containers") && message.contains("engineRole: Server"), "{message}");
    drop(container.stdin.take());
    container.wait().unwrap();
    assert!(Journal::open(&node.paths).unwrap().records().unwrap().records.is_empty());
    node.add(&pod, "net1").result();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}
