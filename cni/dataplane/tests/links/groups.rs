//! Multicast groups: nodes that know nothing of each other but the group.

use super::{Node, device, ip, output_of};
use std::fs;
use std::net::IpAddr;
use std::process::{Child, Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Another node, at the end of the cable: a network namespace.
struct Other(Child);

impl Other {
    fn start() -> Self {
        let other = Self(Command::new("unshare").args(["--net", "sleep", "60"]).spawn().expect("unshare"));
        let own = fs::read_link("/proc/thread-self/ns/net").expect("the namespace of the test");
        let (path, deadline) = (format!("/proc/{}/ns/net", other.0.id()), Instant::now() + Duration::from_secs(10));
        while fs::read_link(&path).is_ok_and(|namespace| namespace == own) && Instant::now() < deadline {}
        ip(&format!("link set wire netns {}", other.0.id()));
        other
    }

    fn command(&self, program: &str) -> Output {
        let process = self.0.id().to_string();
        let arguments = ["--net", "--target", &process].into_iter().chain(program.split(' '));
        Command::new("nsenter").args(arguments).output().expect("nsenter")
    }

    fn run(&self, program: &str) {
        let output = self.command(program);
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Frames that a device has received.
fn received(device: &str) -> u64 {
    let output = output_of(&format!("ip -j -s link show dev {device}"));
    let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    output.pointer("/0/stats64/rx/packets").and_then(serde_json::Value::as_u64).expect("a number")
}

fn in_group(local: &str, group: &str) -> (Node, IpAddr) {
    let mut node = Node::new().with("blue", 7001, local);
    let group: IpAddr = group.parse().unwrap();
    let desired = node.desired("blue");
    (desired.group, desired.peers) = (Some(group), Arc::new([group].into()));
    (node, group)
}

#[test]
fn a_device_joins_its_multicast_group_and_a_second_plan_is_empty() {
    for (local, group, maddr) in [("10.0.0.1", "239.1.1.1", "239.1.1.1"), ("fd00::1", "ff05::7", "ff05::7")] {
        let (mut node, group) = in_group(local, group);
        assert_eq!(node.converge().len(), 1, "{local}");
        let (index, found) = node.device("blue");
        assert_eq!((found.group, found.peers), (Some(group), [group].into()));
        assert!(output_of("ip maddr show dev eth0").contains(maddr), "the kernel joined it");
        let name = device("blue");
        let entries = || output_of(&format!("bridge fdb show dev {name}"));
        assert_eq!(entries().lines().count(), 1, "a second entry would double broadcasts");

        // To others as well, or, without this entry, to none.
        let other = if group.is_ipv4() { "10.0.0.9" } else { "fd00::9" };
        output_of(&format!("bridge fdb append 00:00:00:00:00:00 dev {name} dst {other}"));
        assert_eq!(node.converge().len(), 1);
        assert_eq!((node.device("blue").0, entries().lines().count()), (index, 1));
        output_of(&format!("bridge fdb del 00:00:00:00:00:00 dev {name} dst {group} via eth0"));
        assert_eq!(entries(), "");
        let operations = node.converge();
        assert!(operations[0].starts_with("delete") && operations[1].starts_with("create"), "{operations:?}");
        assert_eq!(entries().lines().count(), 1);
    }
}

#[test]
fn another_group_is_another_device() {
    let (mut node, _) = in_group("10.0.0.1", "239.1.1.1");
    node.converge();
    let other: IpAddr = "239.1.1.2".parse().unwrap();
    let desired = node.desired("blue");
    (desired.group, desired.peers) = (Some(other), Arc::new([other].into()));
    let operations = node.converge();
    assert!(operations[0].starts_with("delete") && operations[1].starts_with("create"), "{operations:?}");
    let groups = output_of("ip maddr show dev eth0");
    assert!(groups.contains("239.1.1.2") && !groups.contains("239.1.1.1"), "{groups}");
    let peers = Arc::new(["10.0.0.2".parse().unwrap()].into());
    let desired = node.desired("blue");
    (desired.group, desired.peers) = (None, peers);
    assert_eq!(node.converge().len(), 2);
    ip(&format!("link show {}", device("blue")));
}

#[test]
fn a_frame_of_a_node_in_the_group_arrives_once() {
    let (mut node, _) = in_group("10.0.0.1", "239.1.1.1");
    node.converge();
    let other = Other::start();
    for program in [
        "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1",
        "ip link set wire up",
        "ip addr add 10.0.0.2/24 dev wire",
        "ip link add vx type vxlan id 7001 dstport 4789 local 10.0.0.2 group 239.1.1.1 dev wire noudpcsum",
        "ip link set vx up",
        "ip addr add 10.9.0.2/24 dev vx",
        // To a host whose address is known, so that nothing but these frames is sent.
        "ip neigh add 10.9.0.1 lladdr 02:00:00:00:00:01 dev vx",
    ] {
        other.run(program);
    }
    let name = device("blue");
    let before = received(&name);
    // No pod has that address.
    other.command("busybox ping -q -c 3 -i 0.1 -W 1 10.9.0.1");
    assert_eq!(received(&name), before + 3);
}
