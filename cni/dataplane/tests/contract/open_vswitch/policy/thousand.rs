//! A node with a thousand ports and a thousand policies: how long one address or one port more
//! takes, from what the node knows to the flows of the switch.

#![expect(clippy::print_stdout, reason = "the times are figures for a reader")]

use super::scene::{Scene, run};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodClass, SelectorId};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::ovs::{BridgeFlows, FrameSource, GuardedPorts, NetworkPolicies, PortOwner, guarded_flows};
use usnet_openflow::PortNumber;
use usnet_planner::testing::attachment;

const PORTS: u16 = 1_000;
const POLICIES: u16 = 1_000;
const NAMESPACES: u16 = 100;
/// The pods of a namespace are of as many apps as it has policies.
const APPS: u16 = POLICIES / NAMESPACES;
/// Pods of other nodes.
const OTHERS: u16 = 2_000;
/// Selectors of peers, which select pods of any namespace.
const ROLES: u16 = 40;
const ROUNDS: usize = 21;
/// For all flows, in the agent and in the switch, in MiB: the target of a node.
const MEMORY_MAX: u64 = 100;
/// How long the switch may take for all.
const LONG: Duration = Duration::from_secs(30);

fn app(namespace: u16, app: u16) -> SelectorId {
    SelectorId::new(u128::from(namespace * APPS + app) * 0x1_0001_0001 + 1)
}

fn role(role: u16) -> SelectorId {
    SelectorId::new((u128::from(role) + 1) << 64)
}

fn name(namespace: u16) -> usnet_crds::NamespaceName {
    format!("n{namespace}").parse().expect("a namespace")
}

/// Three rules for the pods of one app, each with five roles as peers and two destination ports.
fn policy(number: u16) -> Policy {
    let (namespace, of_app) = (number % NAMESPACES, number / NAMESPACES);
    let rule = |place: u16| {
        let range = |port| PortRange { protocol: TransportProtocol::Tcp, first: port, last: port };
        let first = 1_000 + (number * 3 + place) % 500;
        PolicyRule {
            peers: PeerAddresses::Within(BTreeSet::new()),
            peer_pods: (0..5).map(|peer| role((number + place * 7 + peer) % ROLES)).collect(),
            ports: DestinationPorts::Within([first, first + 700].map(range).into()),
        }
    };
    let ingress = Some((0..3).map(rule).collect());
    Policy {
        namespace: name(namespace),
        name: format!("p{number}"),
        pods: Some(app(namespace, of_app)),
        ingress,
        egress: None,
    }
}

fn class(number: u16) -> PodClass {
    let (namespace, of_app) = (number % NAMESPACES, number / NAMESPACES % APPS);
    let not_selected_by = (0..APPS).filter(|other| *other != of_app).map(|other| app(namespace, other)).collect();
    PodClass {
        namespace: name(namespace),
        selected_by: [app(namespace, of_app), role(number % ROLES)].into(),
        not_selected_by,
    }
}

fn address(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 8, high, low)
}

fn pod(number: u16) -> (String, KnownPod) {
    let addresses = [IpAddr::from(address(number))].into();
    (format!("uid-{number}"), KnownPod { class: Arc::new(class(number)), addresses })
}

/// The first pods are those of the ports.
fn pods(count: u16) -> KnownPods {
    (0..count).map(pod).collect()
}

fn ports(scene: &Scene, count: u16) -> GuardedPorts {
    let pod = |number: u16| {
        let [high, low] = number.to_be_bytes();
        FrameSource::Pod {
            guard: format!("02:00:00:01:{high:02x}:{low:02x} {}", address(number)).parse().expect("a guard"),
            is_trunk: false,
            is_in_vlan: false,
            attachment: attachment(&format!("many-{number}")),
        }
    };
    // The switch takes flows also for numbers that no port has.
    let pods = (0..count).map(|number| (PortNumber::new(number + 1_000).expect("a number"), pod(number)));
    pods.chain([(scene.numbers["u"], FrameSource::Network)]).collect()
}

/// What a node knows.
struct Known {
    policies: Arc<[Policy]>,
    owners: BTreeMap<AttachmentId, PortOwner>,
}

impl Known {
    fn new() -> Self {
        let owner = |number: u16| PortOwner { namespace: name(number % NAMESPACES), uid: format!("uid-{number}") };
        let owners = (0..=PORTS).map(|number| (attachment(&format!("many-{number}")), owner(number))).collect();
        Self { policies: (0..POLICIES).map(policy).collect(), owners }
    }

    fn policies(&self, pods: &Arc<KnownPods>) -> Option<NetworkPolicies> {
        let (policies, pods, owners) = (Arc::clone(&self.policies), Arc::clone(pods), self.owners.clone());
        Some(NetworkPolicies { zone: 64_999, policies, pods, owners })
    }
}

/// The middle ones of times, of compilation and of writing.
fn report(what: &str, changes: usize, mut times: Vec<[Duration; 2]>) {
    times.sort_by_key(|[compiled, written]| *compiled + *written);
    let [compiled, written] = times[times.len() / 2];
    println!(
        "{what}: {changes} changes; compiled in {compiled:?}, written in {written:?}, together {:?}",
        compiled + written
    );
}

/// The resident memory of a process, in MiB, by its `/proc/PID/status`.
fn resident(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kibibytes: u64 = line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number");
    kibibytes >> 10
}

/// That of this process, and of the switch.
fn memory(scene: &Scene) -> [u64; 2] {
    let own = std::fs::read_to_string("/proc/self/status").expect("a status");
    let script = format!("cat /proc/$(cat {}/ovs-vswitchd.pid)/status", scene.daemons.folder().display());
    let switch = scene.daemons.command("sh").args(["-c", &script]).output().expect("a status").stdout;
    [&own, &*String::from_utf8_lossy(&switch)].map(resident)
}

#[test]
fn an_address_or_a_port_more_is_written_alone() {
    run(|scene| {
        let before = memory(scene);
        let known = Known::new();
        let others = PORTS + OTHERS;
        let few = pods(others);
        // As the agent has them: the classes of others are shared.
        let mut more = few.clone();
        more.extend([pod(others)]);
        let [few, more] = [few, more].map(Arc::new);
        let [all, another] = [PORTS, PORTS + 1].map(|count| ports(scene, count));
        let management = scene.management();
        let restore = |flows: &BridgeFlows| guarded_flows::restore(&management, LONG, flows).expect("flows").wrong;

        let began = Instant::now();
        let first = BridgeFlows::new(all.clone(), known.policies(&few));
        assert_eq!(first.too_large(), None);
        let compiled = began.elapsed();
        let count = restore(&first);
        println!(
            "{PORTS} ports, {POLICIES} policies: {count} flows, compiled in {compiled:?}, in all {:?}",
            began.elapsed()
        );
        assert!(count > 20_000, "{count}");
        let after = memory(scene);
        let [own, switch] = [0, 1].map(|process| after[process].saturating_sub(before[process]));
        println!("memory: {own} MiB, and {switch} MiB in the switch");
        assert!(own + switch < MEMORY_MAX, "{own} and {switch} MiB");

        let states = [(&all, &few), (&all, &more), (&all, &few), (&another, &few)];
        let mut before = first;
        for (what, [one, other], most) in [("an address more or less", [1, 0], 2), ("a port more or less", [3, 2], 60)]
        {
            let (mut times, mut changes) = (Vec::new(), 0);
            for round in 0..ROUNDS {
                let (ports, pods) = states[if round % 2 == 0 { one } else { other }];
                let (ports, policies) = (ports.clone(), known.policies(pods));
                let began = Instant::now();
                let after = before.after(ports, policies);
                let compiled = began.elapsed();
                changes = guarded_flows::update(&management, LONG, &before, &after).expect("flows");
                times.push([compiled, began.elapsed() - compiled]);
                assert!((1..=most).contains(&changes), "{what}: {changes}");
                before = after;
            }
            report(what, changes, times);
            assert_eq!(restore(&before), 0, "{what}");
        }
    });
}
