//! The node itself in networks: devices and rules in the node's network namespace.

use super::overlays::{ip, overlay, start, wait_until_programmed};
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use usnet_crds::conditions::reason::SUBNET_ROUTED;
use usnet_crds::{NodeAccess, NodeNetwork};
use usnet_dataplane::owner::NetworkDeviceRole;
use usnet_dataplane::port::DeviceName;

fn accessed(network: NodeNetwork, addresses: &[&str]) -> NodeNetwork {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    NodeNetwork { node_access: Some(NodeAccess { addresses, per_node: false }), ..network }
}

fn device(network: &str) -> String {
    DeviceName::of_node_end(&network.parse().unwrap()).to_string()
}

fn port(network: &str) -> String {
    DeviceName::of_role(&network.parse().unwrap(), NetworkDeviceRole::NodeAccess).to_string()
}

impl OvsTestbed {
    /// The addresses of the node's device in a network; none if that is not up.
    fn node_addresses(&self, network: &str) -> Vec<String> {
        let output =
            self.ovs.command("ip").args(["-o", "addr", "show", "up", "dev", &device(network)]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter_map(|line| line.split_whitespace().nth(3)).map(str::to_owned).collect()
    }

    fn mac(&self, device: &str) -> String {
        let link = ip(self, &format!("-o link show dev {device}"));
        link.split_whitespace().skip_while(|word| *word != "link/ether").nth(1).unwrap().to_owned()
    }

    fn rules(&self) -> String {
        let output = self.ovs.command("nft").args(["list", "table", "inet", "usnet-node-access"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether the switch has the present device, whose name an earlier one had.
    fn has_joined(&self, network: &str) -> bool {
        let index = ip(self, &format!("-o link show dev {}", port(network)));
        let index = index.split(':').next().unwrap();
        let port = format!("name={}", port(network));
        let tags = self.vsctl(&format!("--bare --columns=external_ids find Port {port}"));
        tags.split_whitespace().any(|tag| tag == format!("usnet.dev/device-index={index}"))
    }

    fn joined_ports(&self, bridge: &str) -> Vec<String> {
        self.vsctl(&format!("list-ports {bridge}")).lines().map(str::to_owned).collect()
    }
}

const BOTH: [&str; 2] = ["10.63.1.1/24", "fd00:63:1::1/64"];

#[test]
fn the_node_has_its_addresses_behind_rules_and_leaves_with_the_network() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    let blue = || accessed(overlay("blue", 7001, &["10.0.0.2"]), &BOTH);
    agent.set_spec(1, &[blue(), network("green")]);
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.node_addresses("blue"), BOTH);
    let of_overlay = DeviceName::of_network(&"blue".parse().unwrap()).to_string();
    assert_eq!(testbed.joined_ports("br-blue"), [port("blue"), of_overlay], "beside other nodes");
    let rules = testbed.rules();
    for rule in [
        "iifname \"usa-*\" ct state established,related accept",
        "fib saddr . iif oif missing",
        "nd-neighbor-solicit accept",
        "nd-neighbor-advert accept",
        "oifname \"usa-*\" ct status dnat accept",
        "oifname \"usa-*\" masquerade",
    ] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
    assert_eq!(rules.matches(" drop").count(), 3, "{rules}");
    let isolated =
        testbed.ovs.command("nft").args(["list", "chain", "netdev", "usnet", &port("blue")]).output().unwrap();
    assert!(isolated.status.success(), "the end of the switch is isolated");

    let (index, addresses) = (|| ip(&testbed, &format!("-o link show dev {}", device("blue"))), BOTH);
    let before = index();
    for damage in ["nft delete table inet usnet-node-access", "nft flush chain inet usnet-node-access to-pods"] {
        let (program, arguments) = damage.split_once(' ').unwrap();
        assert!(testbed.ovs.command(program).args(arguments.split(' ')).status().unwrap().success());
        until(damage, || (testbed.rules() == rules).then_some(()));
    }
    ip(&testbed, &format!("addr del {} dev {}", addresses[0], device("blue")));
    ip(&testbed, &format!("addr add 10.99.0.1/24 dev {}", device("blue")));
    until("the addresses are back", || (testbed.node_addresses("blue") == addresses).then_some(()));
    assert_eq!(index(), before, "the device stays");
    let before = testbed.mac(&device("blue"));
    ip(&testbed, &format!("link del {}", device("blue")));
    until("another device", || (testbed.node_addresses("blue") == addresses).then_some(()));
    until("it is joined", || testbed.has_joined("blue").then_some(()));
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.mac(&device("blue")), before, "pods know it");

    drop(agent);
    let (rows, before) = (testbed.rows("Port", &["_uuid", "_version", "name"]), index());
    let agent = RunningAgent::start(&paths);
    agent.set_spec(2, &[blue(), network("green")]);
    wait_until_programmed(&agent, "blue");
    assert_eq!((testbed.rows("Port", &["_uuid", "_version", "name"]), index()), (rows, before), "nothing is changed");

    agent.set_spec(3, &[overlay("blue", 7001, &["10.0.0.2"]), network("green")]);
    until("no device", || (!ip(&testbed, "-o link show").contains(&device("blue"))).then_some(()));
    until("no rules", || testbed.rules().is_empty().then_some(()));
    assert!(!testbed.joined_ports("br-blue").contains(&port("blue")), "the port went first");
}

#[test]
fn a_subnet_that_is_reached_elsewhere_is_left_alone() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    // eth0 has 10.0.0.1/24.
    agent.set_spec(1, &[accessed(network("blue"), &["10.0.0.129/25"]), accessed(network("green"), &BOTH)]);
    wait_until_programmed(&agent, "green");
    let refused = agent.wait_for_network("blue", "is refused", |entry| entry.reason == SUBNET_ROUTED);
    assert!(refused.message.contains("10.0.0.0/24 over eth0"), "{}", refused.message);
    // Of two networks the node stays in the one that it is in, whatever their names.
    agent.set_spec(2, &[accessed(network("blue"), &["10.63.0.1/16"]), accessed(network("green"), &BOTH)]);
    let refused = agent.wait_for_network("blue", "is refused", |entry| entry.message.contains("network green"));
    assert_eq!(refused.reason, SUBNET_ROUTED);
    assert_eq!((testbed.node_addresses("blue").len(), testbed.node_addresses("green").len()), (0, 2));
    agent.set_spec(3, &[accessed(network("blue"), &["10.63.0.1/16"])]);
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.node_addresses("blue"), ["10.63.0.1/16"]);
}
