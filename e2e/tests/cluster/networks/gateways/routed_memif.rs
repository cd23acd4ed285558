//! Memifs in IP mode: programs reach their gateway and the networks of their routing domain. DPDK
//! has no such memifs, so a VPP of the test takes the place of all programs, on the sockets in the
//! volumes of the pods.

use super::COUNT;
use crate::support::cluster::{check, eventually, get, run};
use crate::support::pods::{NODE, description, sleeping_pod, start};
use crate::support::scene::{Scene, wait_ready};
use crate::support::station::process;
use crate::support::vpp;
use serde_json::{Value, json};
use std::process::Command;
use usnet_test_vpp::{Kind, Vpp};

/// Networks with their routing domains and subnets; the last has the subnet of the second.
const NETWORKS: [(&str, &str, &str); 3] =
    [("rm-web", "rm-a", "10.58.1"), ("rm-db", "rm-a", "10.58.2"), ("rm-other", "rm-b", "10.58.2")];

/// A pod, as its description is.
#[derive(Debug)]
struct Pod {
    socket: String,
    address: String,
    gateway: String,
    /// Of its socket and its table at the other end.
    id: usize,
}

impl Pod {
    fn of(scene: &Scene, name: &str, id: usize) -> Self {
        let described = description(scene, name, "net1");
        assert_eq!((&described["type"], &described["mode"]), (&json!("memif"), &json!("IP")), "{described}");
        assert_eq!((&described["role"], &described["id"]), (&json!("client"), &json!(0)), "{described}");
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{described}")).to_owned();
        let address = text(&described["ips"][0]["address"]);
        let pod = get(&["pod", name, "-n", &scene.name]).unwrap();
        Self {
            // A socket's path has about a hundred bytes.
            socket: format!("/proc/{}/root/run/usnet/{}", process(&pod), text(&described["socket"])),
            address: address.split('/').next().unwrap().to_owned(),
            gateway: text(&described["ips"][0]["gateway"]),
            id,
        }
    }
}

/// The VPP of the pods' programs.
struct Programs(Vpp);

impl Programs {
    fn command(&self, text: &str) -> String {
        let vppctl = usnet_test_vpp::program().unwrap().with_file_name("vppctl");
        let socket = self.0.folder().join("cli.sock");
        let output = Command::new(vppctl).arg("-s").arg(socket).args(text.split(' ')).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Connects like a program that follows its description.
    fn attach(&self, pod: &Pod) {
        let Pod { socket, address, id, .. } = pod;
        for text in [
            format!("create memif socket id {id} filename {socket}"),
            // With zero copy each ring would take buffers of VPP, which has few in tests.
            format!("create interface memif id 0 socket-id {id} slave no-zero-copy mode ip"),
            format!("ip table add {id}"),
            format!("set interface ip table memif{id}/0 {id}"),
            format!("set interface ip address memif{id}/0 {address}/32"),
            format!("ip route add 0.0.0.0/0 table {id} via memif{id}/0"),
            format!("set interface state memif{id}/0 up"),
        ] {
            let said = self.command(&text);
            assert!(said.is_empty() || said.starts_with("memif"), "{text}: {said}");
        }
    }

    /// Returns the number of answered echo requests of a pod.
    fn echo(&self, pod: &Pod, address: &str) -> (u64, String) {
        let said = self.command(&format!("ping {address} table-id {} repeat {COUNT} interval 0.1", pod.id));
        let received = said.split("sent, ").nth(1).and_then(|rest| rest.split(' ').next());
        (received.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{said}")), said)
    }

    /// Once its memif is connected, which VPP tries every few seconds.
    fn await_answers(&self, pod: &Pod, address: &str) {
        eventually(&format!("{pod:?} reaches {address}"), || {
            let (answered, said) = self.echo(pod, address);
            check(answered == COUNT, said)
        });
    }
}

fn check_packets(programs: &Programs, [web, db, other]: &[Pod; 3]) {
    for pod in [web, db, other] {
        programs.await_answers(pod, &pod.gateway);
    }
    programs.await_answers(web, &db.address);
    programs.await_answers(db, &web.address);
    let (answered, said) = programs.echo(other, &web.address);
    assert_eq!(answered, 0, "across domains: {said}");
}

#[test]
fn programs_with_memifs_in_ip_mode_reach_their_routing_domain() {
    let scene = Scene::new("routed");
    for (network, domain, subnet) in NETWORKS {
        let spec = json!({
            "engine": "VPP", "port": {"type": "Memif", "memif": {"mode": "IP"}},
            "gateway": {"addresses": [format!("{subnet}.1/24")], "routingDomain": domain},
            "ipam": {"type": "host-local", "ranges": [[{"subnet": format!("{subnet}.0/24")}]]},
        });
        scene.apply_network(network, &spec);
    }
    NETWORKS.iter().for_each(|(network, ..)| wait_ready(network));
    NETWORKS.iter().for_each(|(network, ..)| start(&scene, &sleeping_pod(&scene, network, network)));
    let pods = [1, 2, 3].map(|id| Pod::of(&scene, NETWORKS[id - 1].0, 70 + id));
    assert_eq!(pods[1].address, pods[2].address);
    if !vpp::moves_packets("packets over memifs in IP mode") {
        return;
    }
    let programs = Programs(Vpp::start(Kind::Real).unwrap());
    pods.iter().for_each(|pod| programs.attach(pod));
    check_packets(&programs, &pods);

    run("component", &["stop", "vpp", NODE]);
    run("component", &["start", "vpp", NODE]);
    NETWORKS.iter().for_each(|(network, ..)| wait_ready(network));
    check_packets(&programs, &pods);
}
