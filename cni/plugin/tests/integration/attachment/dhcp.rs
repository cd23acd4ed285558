//! The real `dhcp` of the CNI plugins: its daemon sends requests to a server that is another pod of
//! the network.

use crate::support::tools::tool;
use crate::support::wait::await_that;
use crate::support::{
    NETWORK, TestNode, configuration, create_network_namespace, ip, on_a_node, on_a_vpp_node, port_types,
};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use usnet_crds::AntiSpoofing;
use usnet_test_vpp::Kind;

const SOCKET: &str = "/run/dhcp.sock";
const LOG: &str = "/run/dhcp.log";
const SERVER: &str = "/run/netns/q";
/// The only address that the server assigns.
const ADDRESS: &str = "10.56.0.100";

/// A program that is killed when the test ends.
struct Running(Child);

impl Running {
    fn start(mut command: Command, log: &str) -> Self {
        let log = File::create(log).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().expect("a program"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _waited = self.0.wait();
    }
}

/// Starts the daemon, with a short timeout for an answer of the server.
fn daemon() -> Running {
    let mut command = Command::new(tool("dhcp").unwrap());
    command.args(["daemon", "-socketpath", SOCKET, "-timeout", "2s", "-resendmax", "1s", "-resendtimeout", "4s"]);
    let running = Running::start(command, LOG);
    await_that("the daemon of dhcp creates its socket", Duration::from_secs(20), || Path::new(SOCKET).exists());
    running
}

/// Starts a pod that assigns addresses to other pods of the network.
fn server(node: &TestNode) -> Running {
    create_network_namespace(SERVER);
    let mut own = configuration(NETWORK);
    own["runtimeConfig"] = json!({"ips": ["10.56.0.1/24"]});
    node.call_in("ADD", &node.pod("q"), "net1", &own, &[("CNI_NETNS", SERVER)]).result();
    let lines = [
        "interface net1",
        &format!("start {ADDRESS}"),
        &format!("end {ADDRESS}"),
        "lease_file /run/leases",
        "pidfile /run/udhcpd.pid",
        "offer_time 1",
        "option subnet 255.255.255.0",
        "option router 10.56.0.1",
    ];
    fs::write("/run/leases", "").unwrap();
    fs::write("/run/udhcpd.conf", lines.join("\n") + "\n").unwrap();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", "q", "busybox", "udhcpd", "-f", "/run/udhcpd.conf"]);
    Running::start(command, "/run/udhcpd.log")
}

fn ipam() -> Value {
    json!({"type": "dhcp", "daemonSocketPath": SOCKET})
}

#[test]
fn a_veth_pod_gets_a_lease_over_its_interface_and_releases_it() {
    if tool("dhcp").is_some() {
        on_a_node(lease);
        on_a_vpp_node(Kind::Real, lease);
    }
}

fn lease(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::veth(), None);
    let (_server, _daemon) = (server(node), daemon());
    node.program_network_with(NETWORK, &port_types::veth(), Some(ipam()));
    let (first, second) = (node.pod("p"), node.pod("r"));
    create_network_namespace("/run/netns/r");
    let result = node.add(&first, "net1").result();
    let expected = json!([{"address": format!("{ADDRESS}/24"), "gateway": "10.56.0.1", "interface": 0}]);
    assert_eq!(result["ips"], expected);
    let observed = ip(&["-n", "p", "addr", "show", "dev", "net1"]);
    assert!(observed.contains(&format!("{ADDRESS}/24")), "{observed}");
    assert!(ip(&["-n", "p", "route"]).contains("default via 10.56.0.1 dev net1"));
    node.check(&first, "net1", &result).assert_done();

    // The pool is exhausted, and the failed attempt is rolled back.
    let none = node.call_with("ADD", &second, "net1", &[("CNI_NETNS", "/run/netns/r")]);
    assert!(none.error()["msg"].as_str().unwrap().contains("IPAM plugin dhcp"), "{none:?}");
    assert_eq!((node.ports(NETWORK).len(), node.records().len(), node.devices().len()), (2, 2, 2));

    node.del(&first, "net1").assert_done();
    let reported = fs::read_to_string(LOG).unwrap();
    // Messages of the daemon have the sender 0.0.0.0, so that a server behind the kernel's own
    // sockets never receives them. Therefore only the log of the daemon shows the release.
    assert!(reported.contains("releasing lease") && !reported.contains("failed to release"), "{reported}");
    node.call_with("DEL", &node.pod("q"), "net1", &[("CNI_NETNS", SERVER)]).assert_done();
    node.assert_clean();
}

/// Without an agent: the lease comes although the pod has no address to send from, and the pod may
/// send from it when ADD answers.
#[test]
fn a_guarded_pod_gets_a_lease_and_sends_from_it() {
    if tool("dhcp").is_some() {
        on_a_node(|node| {
            guarded_lease(node, |node, bridge| {
                node.open_vswitch().vsctl(&["set", "Bridge", bridge, "fail_mode=secure"]).unwrap();
                // A server of the network is no pod of it: its frames are not checked.
                let port = node.ports(NETWORK).remove(0);
                node.open_vswitch().add_flow(bridge, &format!("in_port={port},actions=normal")).unwrap();
            });
        });
        // The port of the server was created without a guard.
        on_a_vpp_node(Kind::Real, |node| guarded_lease(node, |_, _| {}));
    }
}

fn guarded_lease(node: &mut TestNode, guard_bridge: impl FnOnce(&mut TestNode, &str)) {
    node.program_network_with(NETWORK, &port_types::veth(), None);
    let (_server, _daemon) = (server(node), daemon());
    let mut network = node.program_network_with(NETWORK, &port_types::veth(), Some(ipam()));
    (network.bridge.is_guarded, network.port.anti_spoofing) = (true, AntiSpoofing::Address);
    guard_bridge(node, network.bridge.name.as_str());
    node.publish(network);
    node.add(&node.pod("p"), "net1").result();
    ip(&["netns", "exec", "p", "busybox", "ping", "-c", "1", "-W", "5", "10.56.0.1"]);
    node.del(&node.pod("p"), "net1").assert_done();
    node.call_with("DEL", &node.pod("q"), "net1", &[("CNI_NETNS", SERVER)]).assert_done();
    node.assert_clean();
}

/// The server never answers: the daemon does not run.
#[test]
fn dhcp_is_rejected_for_sockets_and_failures_are_rolled_back() {
    if tool("dhcp").is_none() {
        return;
    }
    on_a_node(|node| {
        node.program_network(NETWORK, Some(ipam()));
        let pod = node.pod("p");
        let message = node.add(&pod, "net1").message(7);
        assert!(message.contains("dhcp") && message.contains("port.type Veth"), "{message}");
        node.assert_clean();
        node.program_network_with(NETWORK, &port_types::veth(), Some(ipam()));
        let message = node.add(&pod, "net1").message(105);
        assert!(message.contains("IPAM plugin dhcp") && !message.contains("cleaned up later"), "{message}");
        // A daemon that does not run holds no lease, and must not block the deletion of the pod.
        node.assert_clean();
        node.del(&pod, "net1").assert_done();
    });
}
