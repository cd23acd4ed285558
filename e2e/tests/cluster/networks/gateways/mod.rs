//! Gateways and routing domains of VPP: pods reach their gateway and the networks of their domain,
//! and nothing else.

mod routed_memif;

use crate::support::cluster::{check, eventually, get, kubectl, on_node, run, timeout};
use crate::support::pods::{NODE, in_pod, pod_without_volume, start};
use crate::support::scene::{Scene, await_condition, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

/// Echo requests of one count.
const COUNT: u64 = 5;

/// A network with a gateway, and a pod of the same name in it.
struct Routed {
    name: &'static str,
    subnets: [&'static str; 2],
    gateways: [&'static str; 2],
    domain: Option<&'static str>,
}

const WEB: Routed = Routed {
    name: "gw-web",
    subnets: ["10.57.1.0/24", "fd00:57:1::/64"],
    gateways: ["10.57.1.1", "fd00:57:1::1"],
    domain: Some("gw-a"),
};
const DB: Routed = Routed {
    name: "gw-db",
    subnets: ["10.57.2.0/24", "fd00:57:2::/64"],
    gateways: ["10.57.2.1", "fd00:57:2::1"],
    domain: Some("gw-a"),
};
/// The same subnet and addresses as [`DB`] in another domain.
const OTHER: Routed = Routed { name: "gw-other", domain: Some("gw-b"), ..DB };
/// The same as [`WEB`] in none.
const ALONE: Routed = Routed { name: "gw-alone", domain: None, ..WEB };
static ALL: [Routed; 4] = [WEB, DB, OTHER, ALONE];

impl Routed {
    fn spec(&self) -> Value {
        let [four, six] = self.subnets;
        let addresses = self.gateways.iter().zip(self.subnets).map(|(gateway, subnet)| {
            let (_, length) = subnet.split_once('/').unwrap();
            format!("{gateway}/{length}")
        });
        let mut gateway = json!({"addresses": addresses.collect::<Vec<_>>()});
        if let Some(domain) = self.domain {
            gateway["routingDomain"] = json!(domain);
        }
        json!({
            "engine": "VPP", "port": {"type": "Veth"}, "gateway": gateway,
            "ipam": {
                "type": "host-local", "ranges": [[{"subnet": four}], [{"subnet": six}]],
                "routes": [{"dst": "10.57.0.0/16"}, {"dst": "fd00:57::/32"}],
            },
        })
    }
}

/// A running pod, with its addresses.
struct Pod<'a> {
    scene: &'a Scene,
    network: &'static Routed,
    addresses: [String; 2],
}

impl<'a> Pod<'a> {
    fn of(scene: &'a Scene, network: &'static Routed) -> Self {
        let pod = get(&["pod", network.name, "-n", &scene.name]).unwrap();
        let status = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
        let status: Vec<Value> = serde_json::from_str(status).unwrap();
        let interface = status.into_iter().find(|entry| entry["interface"] == "net1").unwrap();
        let address = |index: usize| interface["ips"][index].as_str().unwrap().to_owned();
        Self { scene, network, addresses: [address(0), address(1)] }
    }

    fn run(&self, script: &str) -> String {
        in_pod(self.scene, self.network.name, script)
    }

    /// Returns the output of `ping`, and the number of answered requests.
    fn ping(&self, address: &str) -> (u64, String) {
        let ping = if address.contains(':') { "ping6" } else { "ping" };
        let said = self.run(&format!("busybox {ping} -c {COUNT} -i 0.2 -W 1 -I net1 {address}; true"));
        let received = said.split("transmitted, ").nth(1).and_then(|rest| rest.split(' ').next());
        (received.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{said}")), said)
    }

    /// Waits until all requests are answered: the first ones wait for neighbours.
    fn await_answers(&self, address: &str) -> String {
        eventually(&format!("{} reaches {address}", self.network.name), || {
            let (answered, said) = self.ping(address);
            check(answered == COUNT, &said)?;
            Ok(said)
        })
    }

    /// Echo requests that have arrived here, of both families.
    fn requests(&self) -> u64 {
        let four = self.run("busybox grep ^Icmp: /proc/net/snmp");
        let mut lines = four.lines().map(|line| line.split(' '));
        let (names, mut values) = (lines.next().unwrap(), lines.next().unwrap());
        let place = names.into_iter().position(|name| name == "InEchos").unwrap();
        let six = self.run("busybox grep ^Icmp6InEchos /proc/net/snmp6");
        let count = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap();
        count(values.nth(place)) + count(six.split_whitespace().nth(1))
    }
}

fn check_reachable(web: &Pod<'_>, db: &Pod<'_>, elsewhere: &[&Pod<'_>]) {
    for pod in [web, db].iter().chain(elsewhere) {
        pod.network.gateways.iter().for_each(|gateway| drop(pod.await_answers(gateway)));
    }
    let before: Vec<u64> = elsewhere.iter().map(|pod| pod.requests()).collect();
    for (from, to) in [(web, db), (db, web)] {
        let arrived = to.requests();
        for address in &to.addresses {
            let said = from.await_answers(address);
            // One router is on the way.
            assert!(address.contains(':') || said.contains("ttl=63"), "{said}");
        }
        assert!(to.requests() >= arrived + 2 * COUNT, "requests from {} to {}", from.network.name, to.network.name);
    }
    let after: Vec<u64> = elsewhere.iter().map(|pod| pod.requests()).collect();
    assert_eq!(before, after, "pods of other domains with the same addresses");
}

/// No request passes, neither to another subnet nor to the address that is in two domains.
fn check_isolated(from: &Pod<'_>, to: &Pod<'_>) {
    let before = to.requests();
    for address in &to.addresses {
        let (answered, said) = from.ping(address);
        assert_eq!(answered, 0, "{} to {}: {said}", from.network.name, to.network.name);
    }
    assert_eq!(to.requests(), before, "{} to {}", from.network.name, to.network.name);
}

#[test]
fn pods_reach_the_networks_of_their_routing_domain_and_no_others() {
    let scene = Scene::new("gateways");
    ALL.iter().for_each(|network| scene.apply_network(network.name, &network.spec()));
    ALL.iter().for_each(|network| wait_ready(network.name));
    let overlapping = Routed { name: "gw-overlap", domain: WEB.domain, ..WEB };
    scene.apply_network(overlapping.name, &overlapping.spec());
    let message = await_condition(overlapping.name, "Accepted", "False", "SubnetTaken");
    assert!(message.contains("gw-web"), "{message}");

    for network in &ALL {
        start(&scene, &pod_without_volume(&scene, network.name, network.name));
    }
    let pods = ALL.each_ref().map(|network| Pod::of(&scene, network));
    let [web, db, other, alone] = &pods;
    assert_eq!((&db.addresses, &web.addresses), (&other.addresses, &alone.addresses));
    let routes = web.run("busybox ip route show dev net1");
    assert!(routes.contains("10.57.0.0/16 via 10.57.1.1"), "{routes}");
    if !vpp::moves_packets("packets through gateways") {
        return;
    }
    check_reachable(web, db, &[other, alone]);
    for (from, to) in [(other, web), (alone, db)] {
        check_isolated(from, to);
    }

    run("component", &["stop", "vpp", NODE]);
    run("component", &["start", "vpp", NODE]);
    ALL.iter().for_each(|network| wait_ready(network.name));
    check_reachable(web, db, &[other, alone]);

    scene.delete_pods(ALL.iter().map(|network| network.name));
    let names = ALL.iter().map(|network| network.name).chain([overlapping.name]);
    kubectl(&["delete", "usn", timeout()].into_iter().chain(names).collect::<Vec<_>>());
    eventually("the routing tables are gone", || {
        let tables = on_node(NODE, &["vppctl", "show", "ip", "table"]);
        check(!tables.contains("usnrd:gw-") && !tables.contains("usngw:gw-"), tables)
    });
}
