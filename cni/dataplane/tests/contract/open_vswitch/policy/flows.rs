//! The flows themselves, and what is read back of them.

use super::scene::{BRIDGE, ZONE, run};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_dataplane::ovs::policy::{self, BridgePolicies, PolicyPort, PolicyPortState, compile};
use usnet_openflow::{Change, Difference, FlowFilter, FlowMod, GroupMod, PortNumber};

/// The flows of two pods with policies, as ovs-ofctl(8) writes them.
const FLOWS: &str = include_str!("../../../../testdata/policy/flows.txt");

/// Ingress from a block and from a host to some ports, and from all with ports of UDP; egress to
/// anywhere.
fn policies() -> Vec<Policy> {
    let range = |protocol, first, last| PortRange { protocol, first, last };
    let within =
        |blocks: &[&str]| PeerAddresses::Within(blocks.iter().map(|block| block.parse().expect("a block")).collect());
    let web = DestinationPorts::Within([range(TransportProtocol::Tcp, 80, 83)].into());
    let names = DestinationPorts::Within([range(TransportProtocol::Udp, 53, 53)].into());
    let ingress = vec![
        PolicyRule { peers: within(&["10.9.0.12/32", "fd09::/64"]), peer_pods: BTreeSet::new(), ports: web },
        PolicyRule { peers: PeerAddresses::Any, peer_pods: BTreeSet::new(), ports: names },
        PolicyRule { peers: within(&["10.9.0.12/32"]), peer_pods: BTreeSet::new(), ports: DestinationPorts::Any },
    ];
    let policy = |namespace: &str, ingress, egress| Policy {
        namespace: namespace.parse().expect("a namespace"),
        name: "p".to_owned(),
        pods: None,
        ingress,
        egress,
    };
    let all = PolicyRule { peers: PeerAddresses::Any, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any };
    vec![policy("a", Some(ingress), None), policy("b", Some(Vec::new()), Some(vec![all]))]
}

#[test]
fn the_flows_of_policies_are_those_of_the_table() {
    run(|scene| {
        scene.enforce(&policies(), &["c"]);
        let mut command = scene.daemons.command("ovs-ofctl");
        command.env("OVS_RUNDIR", scene.daemons.folder());
        command.args(["-O", "OpenFlow14", "--no-stats", "--names", "dump-flows", BRIDGE]);
        let output = String::from_utf8(command.output().expect("ovs-ofctl").stdout).expect("a text");
        let line = |line: &str| {
            let (_, table) = line.split_once("table=")?;
            let (table, rest) = table.split_once(',')?;
            let (_, rest) = rest.split_once("priority=")?;
            Some((table.parse::<u8>().ok()?, rest.split([',', ' ']).next()?.parse::<u16>().ok()?, rest.to_owned()))
        };
        // By table, then by priority, the highest first, and then by text.
        let of_policies = output.lines().filter(|line| !line.contains("pkt_mark"));
        let mut lines: Vec<(u8, u16, String)> = of_policies.filter_map(line).collect();
        lines.sort_by_key(|(table, priority, text)| (*table, std::cmp::Reverse(*priority), text.clone()));
        let lines: Vec<String> = lines.into_iter().map(|(table, _, text)| format!("{table} {text}")).collect();
        let table: Vec<&str> = FLOWS.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, table, "{}", lines.join("\n"));
    });
}

#[test]
fn flows_and_groups_are_read_back_as_they_were_written() {
    run(|scene| {
        scene.enforce(&policies(), &["c"]);
        let desired = scene.desired(&policies(), &["c"]);
        let mut connection = scene.connect();
        let filter = FlowFilter { cookies: policy::cookies(), ..FlowFilter::default() };
        let difference = Difference::between(&desired.flows, connection.flows(&filter).expect("flows"));
        assert!(difference.is_empty(), "{difference:?}");
        let groups = connection.groups().expect("groups");
        assert_eq!(groups.len(), desired.groups.len());
        assert!(desired.groups.iter().all(|group| groups.iter().any(|found| found.is(group))));
    });
}

#[test]
fn flows_of_many_ports_and_policies_are_written_in_a_second() {
    const PORTS: u16 = 1000;
    const RULES: u16 = 1000;
    run(|scene| {
        let port = |number: u16| {
            let [high, low] = number.to_be_bytes();
            let mac = format!("02:00:00:01:{high:02x}:{low:02x}").parse().expect("a MAC address");
            let state = PolicyPortState::of_namespace("a".parse().expect("a namespace"));
            (PortNumber::new(number + 10).expect("a port"), PolicyPort { mac, virtual_macs: BTreeSet::new(), state })
        };
        let policy = |number: u16| {
            let [high, low] = number.to_be_bytes();
            let range = PortRange { protocol: TransportProtocol::Tcp, first: number, last: number };
            let block = format!("10.{high}.{low}.0/24").parse().expect("a block");
            let rule = PolicyRule {
                peers: PeerAddresses::Within([block].into()),
                peer_pods: BTreeSet::new(),
                ports: DestinationPorts::Within([range].into()),
            };
            Policy {
                namespace: "a".parse().expect("a namespace"),
                name: format!("p{number}"),
                pods: None,
                ingress: Some(vec![rule.clone()]),
                egress: Some(vec![rule]),
            }
        };
        let (ports, policies): (_, Vec<Policy>) = ((1..=PORTS).map(port).collect(), (1..=RULES).map(policy).collect());
        let since = Instant::now();
        let (peers, ports) = (&Arc::default(), &Arc::new(ports));
        let desired = compile(&BridgePolicies { zone: ZONE, policies: &policies.into(), ports, peers }).expect("few");
        let compiled = since.elapsed();
        let count = desired.flows.len();
        let groups = desired.groups.into_iter().map(|group| Change::Group(GroupMod::Set(group)));
        let flows = desired.flows.into_iter().map(|flow| Change::Flow(FlowMod::Add(flow)));
        let changes: Vec<Change> = groups.chain(flows).collect();
        let since = Instant::now();
        scene.connect().commit_all(&changes).expect("flows");
        let written = since.elapsed();
        println!("{PORTS} ports, {RULES} policies: {count} flows, compiled in {compiled:?}, written in {written:?}");
        assert!(compiled + written < Duration::from_secs(10), "{compiled:?} {written:?}");
    });
}
