//! Packets of programs with memifs in IP mode: to their gateway, to another pod of the routing
//! domain, and not beyond. A second VPP has the other ends of all memifs, each with tables of its
//! own.

use super::gateways::with_gateway;
use super::routed_ports::routed_port;
use crate::switch::Switch;
use crate::values::{Values, attachment, converge};
use crate::vpp::switch::VppSwitch;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::port::AttachedPort;
use usnet_planner::testing::desired_port;
use usnet_test_vpp::{Kind, Vpp};

/// Echo requests of one attempt.
const COUNT: u32 = 5;
/// VPP takes up a memif again within some seconds of its peer's return.
const AMPLE: Duration = Duration::from_secs(30);

struct Pod {
    container: &'static str,
    network: NodeNetwork,
    port: AttachedPort,
    ips: [&'static str; 2],
    /// Of its socket and its tables at the other end.
    id: u32,
}

/// The VPP of the pods.
struct Pods(Vpp);

impl Pods {
    fn command(&self, text: &str) -> String {
        let program = usnet_test_vpp::program().expect("VPP").with_file_name("vppctl");
        let socket = self.0.folder().join("cli.sock");
        let output = Command::new(program).arg("-s").arg(socket).args(text.split(' ')).output().expect("vppctl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// As a program that follows its description.
    fn attach(&self, pod: &Pod) {
        let (id, socket) = (pod.id, pod.port.backend.socket_file().expect("a file").display());
        let [four, six] = pod.ips;
        // With zero copy each ring would take buffers of VPP, which has few in tests.
        for text in [
            format!("create memif socket id {id} filename {socket}"),
            format!("create interface memif id 0 socket-id {id} slave no-zero-copy mode ip"),
            format!("ip table add {id}"),
            format!("ip6 table add {id}"),
            format!("set interface ip table memif{id}/0 {id}"),
            format!("set interface ip6 table memif{id}/0 {id}"),
            format!("set interface ip address memif{id}/0 {four}/32"),
            format!("set interface ip address memif{id}/0 {six}/128"),
            format!("ip route add 0.0.0.0/0 table {id} via memif{id}/0"),
            format!("ip route add ::/0 table {id} via memif{id}/0"),
            format!("set interface state memif{id}/0 up"),
        ] {
            let said = self.command(&text);
            assert!(said.is_empty() || said.starts_with("memif"), "{text}: {said}");
        }
    }

    /// How many of the echo requests of a pod were answered.
    fn echo(&self, pod: &Pod, address: &str) -> u32 {
        let said = self.command(&format!("ping {address} table-id {} repeat {COUNT} interval 0.1", pod.id));
        let received = said.split("sent, ").nth(1).and_then(|rest| rest.split(' ').next());
        received.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{said}"))
    }

    /// Once its memif is connected.
    fn await_answers(&self, pod: &Pod, address: &str) {
        let end = Instant::now() + AMPLE;
        while self.echo(pod, address) < COUNT {
            assert!(Instant::now() < end, "{} does not reach {address}", pod.container);
            sleep(Duration::from_millis(50));
        }
    }
}

fn pods(switch: &VppSwitch) -> [Pod; 4] {
    let network = |name: &str, addresses: &[&str], domain| with_gateway(&switch.network(name), addresses, domain);
    let blue = network("blue", &["10.1.0.1/24", "fd00:1::1/64"], Some("a"));
    let green = network("green", &["10.2.0.1/24", "fd00:2::1/64"], Some("a"));
    // The same subnets and addresses in another domain.
    let red = network("red", &["10.2.0.1/24", "fd00:2::1/64"], Some("b"));
    let pod = |container, network: &NodeNetwork, ips: [&'static str; 2], id| Pod {
        port: routed_port(switch, container, network, &ips),
        container,
        network: network.clone(),
        ips,
        id,
    };
    [
        pod("c1", &blue, ["10.1.0.11", "fd00:1::11"], 71),
        pod("c2", &blue, ["10.1.0.12", "fd00:1::12"], 72),
        pod("c3", &green, ["10.2.0.13", "fd00:2::13"], 73),
        pod("c4", &red, ["10.2.0.13", "fd00:2::13"], 74),
    ]
}

fn desired(pods: &[Pod]) -> Desired {
    let port = |pod: &Pod| desired_port(&pod.network.name, &attachment(pod.container), &pod.port);
    Desired::new(pods.iter().map(|pod| pod.network.clone()), []).with_ports(pods.iter().map(port))
}

pub(crate) fn a_routed_pod_reaches_its_gateway_and_its_domain_and_nothing_else(switch: &mut VppSwitch) {
    let all = pods(switch);
    let desired = desired(&all);
    converge(&mut switch.engine(), &desired);
    let other_end = Pods(Vpp::builder(Kind::Real).start().expect("VPP starts"));
    all.iter().for_each(|pod| other_end.attach(pod));
    check(&other_end, &all);

    // VPP lost everything, and the pods nothing.
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &desired);
    check(&other_end, &all);
}

fn check(other_end: &Pods, all: &[Pod; 4]) {
    let [blue, second, green, red] = all;
    for pod in all {
        for gateway in &pod.network.gateway.as_ref().expect("a gateway").addresses {
            other_end.await_answers(pod, &gateway.ip().to_string());
        }
    }
    for (from, to) in [(blue, second), (blue, green), (green, blue)] {
        for address in to.ips {
            other_end.await_answers(from, address);
        }
    }
    for (from, to) in [(red, blue), (red, second)] {
        for address in to.ips {
            assert_eq!(other_end.echo(from, address), 0, "{} to {}", from.container, to.container);
        }
    }
}
