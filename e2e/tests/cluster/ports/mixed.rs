//! Pods with ten interfaces of all types and both engines, some of them twice on one network.

use crate::support::cluster::{apply, check, eventually, get, kubectl};
use crate::support::pods::{NODE, description, remains, sleeping_pod, uid, wait_running};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, last_counters};
use crate::support::vpp;
use serde_json::{Value, json};

/// The program of an interface.
#[derive(Clone, Copy)]
enum Use {
    /// testpmd sends on it and counts what it receives; whether that goes through VPP.
    Dpdk(Driver, Engine),
    /// The kernel pings with it.
    Kernel(Engine),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    OpenVswitch,
    Vpp,
}

/// The interfaces `net1` to `net10`: the network of each, and what it is used for.
const INTERFACES: [(&str, Use); 10] = [
    ("mix-vhost", Use::Dpdk(Driver::VhostServer, Engine::OpenVswitch)),
    ("mix-vhost", Use::Dpdk(Driver::VhostServer, Engine::OpenVswitch)),
    ("mix-veth", Use::Kernel(Engine::OpenVswitch)),
    ("mix-veth", Use::Kernel(Engine::OpenVswitch)),
    ("mix-memif", Use::Dpdk(Driver::Memif, Engine::Vpp)),
    ("mix-memif", Use::Dpdk(Driver::Memif, Engine::Vpp)),
    ("mix-abstract", Use::Dpdk(Driver::MemifAbstract, Engine::Vpp)),
    ("mix-vpp-listens", Use::Dpdk(Driver::VhostClient, Engine::Vpp)),
    ("mix-vpp-connects", Use::Dpdk(Driver::VhostServer, Engine::Vpp)),
    ("mix-vpp-veth", Use::Kernel(Engine::Vpp)),
];

fn networks() -> [(&'static str, Value); 7] {
    let subnet = |third: u8| json!({"type": "host-local", "ranges": [[{"subnet": format!("10.57.{third}.0/24")}]]});
    [
        ("mix-vhost", json!({})),
        ("mix-veth", json!({"port": {"type": "Veth"}, "ipam": subnet(1)})),
        ("mix-memif", json!({"engine": "VPP"})),
        ("mix-abstract", json!({"engine": "VPP", "port": {"type": "Memif", "memif": {"socket": "Abstract"}}})),
        (
            "mix-vpp-listens",
            json!({"engine": "VPP", "port": {"type": "VhostUser", "vhostUser": {"engineRole": "Server"}}}),
        ),
        ("mix-vpp-connects", json!({"engine": "VPP", "port": {"type": "VhostUser"}})),
        ("mix-vpp-veth", json!({"engine": "VPP", "port": {"type": "Veth"}, "ipam": subnet(2)})),
    ]
}

/// What testpmd drives. A simulated VPP makes no sockets, and testpmd ends where it cannot connect.
fn driven() -> Vec<(usize, Driver, Engine)> {
    dpdk().into_iter().filter(|(.., engine)| *engine == Engine::OpenVswitch || vpp::is_real()).collect()
}

/// The numbers of the interfaces for DPDK, in their order, and through which engine they go.
fn dpdk() -> Vec<(usize, Driver, Engine)> {
    let used = INTERFACES.iter().zip(1..).filter_map(|((_, used), number)| match used {
        Use::Dpdk(driver, engine) => Some((number, *driver, *engine)),
        Use::Kernel(_) => None,
    });
    used.collect()
}

fn mixed_pod(scene: &Scene, name: &str) -> Value {
    let names: Vec<_> = INTERFACES.iter().map(|(network, _)| *network).collect();
    let mut pod = sleeping_pod(scene, name, &names.join(","));
    let devices: Vec<_> = driven().into_iter().map(|(number, driver, _)| driver.device(number)).collect();
    let start = ["dpdk-testpmd", "--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "160"].map(String::from);
    let rest = ["--", "--forward-mode=flowgen", "--stats-period=1", "--auto-start", "--total-num-mbufs=16384"];
    let rest = rest.into_iter().chain(["--no-mlockall"]).map(String::from);
    let command: Vec<String> = start.into_iter().chain(devices).chain(rest).collect();
    let container = &mut pod["spec"]["containers"][0];
    container["image"] = json!("testpmd:e2e");
    container["command"] = json!(command);
    pod
}

/// The addresses of a pod's interfaces, by name, as Multus wrote them.
fn address(scene: &Scene, pod: &str, interface: &str) -> String {
    let observed = get(&["pod", pod, "-n", &scene.name]).unwrap();
    let status = observed["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Vec<Value> = serde_json::from_str(status).unwrap();
    let ours = status.iter().find(|entry| entry["interface"] == interface).unwrap();
    ours["ips"][0].as_str().unwrap().to_owned()
}

/// Whether testpmd received on all ports of that engine.
fn await_packets(scene: &Scene, pod: &str, engine: Engine) {
    let ports = driven();
    let packets = eventually("packets on every interface", || {
        let received = last_counters(&kubectl(&["logs", pod, "-n", &scene.name, "--tail=400"]));
        let of_engine = ports.iter().zip(&received).filter(|((.., of), _)| *of == engine);
        let of_engine: Vec<_> = of_engine.map(|((number, ..), count)| (*number, *count)).collect();
        check(received.len() == ports.len() && of_engine.iter().all(|(_, count)| *count > 0), format!("{received:?}"))?;
        Ok(of_engine)
    });
    println!("{pod}: received packets by interface {packets:?}");
}

fn ping(scene: &Scene, number: usize) {
    let interface = format!("net{number}");
    let target = address(scene, "right", &interface);
    let script = format!("busybox ping -c 3 -W 5 -I {interface} {target}");
    let answered = kubectl(&["exec", "left", "-n", &scene.name, "--", "busybox", "sh", "-c", &script]);
    assert!(answered.contains("3 packets received"), "{interface}: {answered}");
    println!("{interface}: 3 of 3 pings answered");
}

#[test]
fn a_pod_has_ten_interfaces_of_all_kinds_and_each_moves_packets() {
    let scene = Scene::new("mixed");
    for (network, spec) in networks() {
        scene.apply_network(network, &spec);
    }
    for (network, _) in networks() {
        crate::support::scene::wait_ready(network);
    }
    let pods = ["left", "right"];
    pods.iter().for_each(|pod| apply(&mixed_pod(&scene, pod)));
    pods.iter().for_each(|pod| wait_running(&scene, pod));

    for (number, driver, _) in dpdk().into_iter().filter(|(_, driver, _)| driver.needs_volume()) {
        let interface = format!("net{number}");
        let described = description(&scene, "left", &interface);
        assert_eq!(described["network"], INTERFACES[number - 1].0, "{driver:?} {described}");
        assert_eq!(described["socket"], format!("{interface}.sock"), "{driver:?} {described}");
    }
    let moves = vpp::moves_packets("packets over VPP on pods with ten interfaces");
    for pod in pods {
        await_packets(&scene, pod, Engine::OpenVswitch);
        if moves {
            await_packets(&scene, pod, Engine::Vpp);
        }
    }
    for (number, (_, used)) in (1..).zip(INTERFACES) {
        if matches!(used, Use::Kernel(engine) if engine == Engine::OpenVswitch || moves) {
            ping(&scene, number);
        }
    }
    let gone = uid(&scene, "left");
    scene.delete_pod("left");
    eventually("everything of the pod is gone", || check(remains(&gone).is_empty(), remains(&gone)));
    for (network, ports) in [("mix-memif", 2), ("mix-abstract", 1), ("mix-vpp-veth", 1)] {
        vpp::await_ports(NODE, network, ports);
    }
}
