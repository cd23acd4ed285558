//! Packets of pods to their gateways and beyond. Counted where they arrive: the simulator moves
//! none.

use super::gateways::with_gateway;
use crate::switch::Switch;
use crate::values::{Values, converge, port_name};
use crate::vpp::namespace::Namespace;
use crate::vpp::switch::VppSwitch;
use std::process::Command;
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;

/// Packets of one test.
const COUNT: u32 = 5;

/// A pod: its container, network, addresses and gateways.
pub(super) struct Pod {
    pub(super) container: &'static str,
    pub(super) network: NodeNetwork,
    ips: [&'static str; 2],
    namespace: Namespace,
}

impl Pod {
    pub(super) fn new(container: &'static str, network: &NodeNetwork, ips: [&'static str; 2]) -> Self {
        Self { container, network: network.clone(), ips, namespace: Namespace::new() }
    }

    fn run(&self, command: &str) -> String {
        let mut nsenter = Command::new("nsenter");
        nsenter.arg(format!("--net={}", self.namespace.path().display())).args(command.split(' '));
        let output = nsenter.output().expect("nsenter");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// Moves the pod's end of the pair into its namespace, with addresses and routes as the plugin
    /// sets them.
    pub(super) fn configure(&self) {
        let device = port_name(self.container).as_str().replace("vhu", "pod");
        let namespace = self.namespace.path().display().to_string();
        let holder = namespace.split('/').nth(2).expect("a pid");
        let moved = Command::new("ip").args(["link", "set", &device, "netns", holder]).status().expect("ip");
        assert!(moved.success(), "{device}");
        self.run("ip link set lo up");
        self.run(&format!("ip link set {device} up"));
        let gateways = self.network.gateway.as_ref().expect("a gateway").addresses.clone();
        for (ip, gateway) in self.ips.iter().zip(gateways) {
            let length = gateway.prefix();
            let (family, nodad) = if gateway.ip().is_ipv6() { ("-6", " nodad") } else { ("-4", "") };
            let text = self.run(&format!("ip addr add {ip}/{length} dev {device}{nodad}"));
            assert_eq!(text, "");
            let text = self.run(&format!("ip {family} route add default via {}", gateway.ip()));
            assert_eq!(text, "");
        }
    }

    /// How many echo requests were answered. The first one may be lost while neighbours are
    /// resolved, and is not counted.
    pub(super) fn ping(&self, address: &str) -> u32 {
        self.echo(address, 1);
        self.echo(address, COUNT)
    }

    pub(super) fn echo(&self, address: &str, count: u32) -> u32 {
        let output = self.run(&format!("busybox ping -c {count} -i 0.1 -W 1 {address}"));
        let received = output.split("transmitted, ").nth(1).and_then(|rest| rest.split(' ').next());
        received.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{output}"))
    }

    /// Echo requests that have arrived here, of both families.
    fn requests(&self) -> u64 {
        let four = self.run("cat /proc/net/snmp");
        let mut icmp = four.lines().filter(|line| line.starts_with("Icmp:")).map(|line| line.split(' '));
        let (names, values) = (icmp.next().expect("names"), icmp.next().expect("values"));
        let four =
            names.zip(values).find(|(name, _)| *name == "InEchos").and_then(|(_, value)| value.parse::<u64>().ok());
        let six = self.run("cat /proc/net/snmp6");
        let six = six.lines().find(|line| line.starts_with("Icmp6InEchos "));
        let six = six.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        four.expect("a counter") + six.expect("a counter")
    }
}

fn pods(switch: &VppSwitch) -> [Pod; 5] {
    let network = |name: &str, addresses: &[&str], domain| with_gateway(&switch.network(name), addresses, domain);
    let blue = network("blue", &["10.1.0.1/24", "fd00:1::1/64"], Some("a"));
    let green = network("green", &["10.2.0.1/24", "fd00:2::1/64"], Some("a"));
    // The same subnets and addresses in another domain, and in none.
    let red = network("red", &["10.2.0.1/24", "fd00:2::1/64"], Some("b"));
    let white = network("white", &["10.1.0.1/24", "fd00:1::1/64"], None);
    [
        Pod::new("c1", &blue, ["10.1.0.11", "fd00:1::11"]),
        Pod::new("c2", &blue, ["10.1.0.12", "fd00:1::12"]),
        Pod::new("c3", &green, ["10.2.0.13", "fd00:2::13"]),
        Pod::new("c4", &red, ["10.2.0.13", "fd00:2::13"]),
        Pod::new("c5", &white, ["10.1.0.11", "fd00:1::11"]),
    ]
}

fn desired(switch: &VppSwitch, pods: &[Pod]) -> Desired {
    let networks = pods.iter().map(|pod| pod.network.clone());
    let pods = pods.iter().map(|pod| (pod.container, &pod.network));
    switch.with_pods(Desired::new(networks, []), pods)
}

pub(crate) fn a_pod_reaches_its_gateway_and_its_domain_and_nothing_else(switch: &mut VppSwitch) {
    let pods = pods(switch);
    let desired = desired(switch, &pods);
    pods.iter().for_each(Pod::configure);
    converge(&mut switch.engine(), &desired);
    check_reachable(&pods);
    check_isolated(&pods);

    // VPP lost everything, and the pods nothing.
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &desired);
    check_reachable(&pods);
}

fn check_reachable(pods: &[Pod; 5]) {
    let [blue, _, green, ..] = pods;
    for pod in pods {
        for gateway in &pod.network.gateway.as_ref().expect("a gateway").addresses {
            assert_eq!(pod.ping(&gateway.ip().to_string()), COUNT, "{} to {}", pod.container, gateway.ip());
        }
    }
    assert_eq!(blue.ping("10.1.0.12"), COUNT, "of one network");
    // Between the networks of a domain, in both directions; the pod with the same addresses in
    // another domain receives nothing.
    let before = pods.each_ref().map(Pod::requests);
    for address in green.ips {
        assert_eq!(blue.ping(address), COUNT, "{address}");
    }
    for address in blue.ips {
        assert_eq!(green.ping(address), COUNT, "{address}");
    }
    let after = pods.each_ref().map(Pod::requests);
    let received: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    // The first one of each may be lost on the way.
    let some = u64::from(2 * COUNT)..=u64::from(2 * COUNT + 2);
    assert!(some.contains(&received[0]) && some.contains(&received[2]), "{received:?}");
    assert_eq!([received[1], received[3], received[4]], [0, 0, 0]);
}

fn check_isolated(pods: &[Pod; 5]) {
    let [blue, second, green, red, white] = pods;
    // Not across domains: not to the subnet of another, and not to the address that is in two.
    for (from, to) in [(red, blue), (white, green), (red, second)] {
        let before = to.requests();
        for address in to.ips {
            assert_eq!(from.echo(address, COUNT), 0, "{} to {address}", from.container);
        }
        assert_eq!(to.requests(), before, "{}", from.container);
    }
}
