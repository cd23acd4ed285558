//! Random policies and packets of both families, against what the policies say.

use super::packets::{BROADCAST, Ends, TCP, UDP};
use super::scene::{ENDS, Scene, ends, run};
use std::collections::BTreeSet;
use std::sync::Arc;
use usnet_crds::policy::pods::{PodClass, SelectorId};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_crds::policy::verdict::{Connection, is_allowed, is_isolated};
use usnet_crds::policy::{Direction, Policy};
use usnet_test_fuzz::Random;

const SETS: u64 = 24;
const PACKETS: u16 = 40;
const UNKNOWN: [u8; 6] = [2, 0, 0, 0, 0, 0x77];

fn policy(random: &mut Random) -> Policy {
    let rules =
        |random: &mut Random| (random.below(3) > 0).then(|| (0..random.below(3)).map(|_| rule(random)).collect());
    let namespace = random.pick(&["a", "b"]).parse().expect("a namespace");
    let pods = (random.below(2) == 0).then(|| SelectorId::new(random.below(3) as u128));
    Policy { namespace, name: "p".to_owned(), pods, ingress: rules(random), egress: rules(random) }
}

fn selectors(random: &mut Random) -> BTreeSet<SelectorId> {
    (0..3).filter(|_| random.below(2) == 0).map(SelectorId::new).collect()
}

/// The labels of all ends, as far as selectors tell them apart.
fn classes(scene: &mut Scene, random: &mut Random) {
    for (end, class) in &mut scene.classes {
        let selected_by = selectors(random);
        let not_selected_by = (0..3).map(SelectorId::new).filter(|id| !selected_by.contains(id)).collect();
        *class = Arc::new(PodClass { namespace: end.parse().expect("a namespace"), selected_by, not_selected_by });
    }
}

fn rule(random: &mut Random) -> PolicyRule {
    const BLOCKS: [&str; 8] =
        ["10.9.0.10/32", "10.9.0.12/31", "10.9.0.8/29", "0.0.0.0/0", "fd09::c/128", "fd09::a/127", "fd09::/64", "::/0"];
    let count = 1 + random.below(4);
    let prefixes = |random: &mut Random| (0..count).map(|_| random.pick(&BLOCKS).parse().expect("a block")).collect();
    let peers = match random.below(4) {
        0 => PeerAddresses::Any,
        _ => PeerAddresses::Within(prefixes(random)),
    };
    let ranges = [(1, 4), (3, 9), (5, 5), (0, u16::MAX)];
    let range = |random: &mut Random| {
        let (first, last) = *random.pick(&ranges);
        PortRange { protocol: *random.pick(&[TransportProtocol::Tcp, TransportProtocol::Udp]), first, last }
    };
    let ports = match random.below(3) {
        0 => DestinationPorts::Any,
        _ => DestinationPorts::Within((0..=random.below(2)).map(|_| range(random)).collect()),
    };
    let peer_pods = match &peers {
        PeerAddresses::Within(_) if random.below(2) == 0 => selectors(random),
        _ => BTreeSet::new(),
    };
    PolicyRule { peers, peer_pods, ports }
}

/// A packet, and what policies see of it.
struct Sent {
    to: &'static str,
    frame: Vec<u8>,
    connection: Connection,
    is_fragment: bool,
}

fn packet(random: &mut Random, from: &'static str, number: u16) -> Sent {
    let others: Vec<&str> = ENDS.into_iter().filter(|end| *end != from).collect();
    let to = *random.pick(&others);
    let ends = ends(from, to, random.below(2) == 0);
    let Ends { addresses: [source, destination], .. } = ends;
    let to_mac = *random.pick(&[ends.macs[1], ends.macs[1], BROADCAST, UNKNOWN]);
    let ends = ends.to_mac(to_mac);
    // Each packet has a source port of its own, and so begins a connection.
    let ports = [10_000 + number, 1 + u16::try_from(random.below(10)).expect("few")];
    let of = |protocol| Some((protocol, ports[1]));
    let (frame, port, is_fragment) = match random.below(8) {
        0 => (ends.echo(number, false), None, false),
        1 => (ends.fragment(number.is_multiple_of(2), ports), of(TransportProtocol::Udp), true),
        2..5 => (ends.first(UDP, ports), of(TransportProtocol::Udp), false),
        _ => (ends.first(TCP, ports), of(TransportProtocol::Tcp), false),
    };
    Sent { to, frame, connection: Connection { source, destination, port }, is_fragment }
}

/// Whether an end gets a packet.
fn gets(scene: &Scene, policies: &[Policy], from: &str, end: &str, sent: &Sent) -> bool {
    let peers = scene.peers();
    // What is outside is restricted on its own node.
    let class = |end| scene.classes.get(end).filter(|_| end != "u");
    let isolated = |end| {
        let isolated = |class| Direction::ALL.iter().any(|direction| is_isolated(policies, class, *direction));
        class(end).is_some_and(|class| isolated(class))
    };
    let allows = |end, direction| {
        class(end).is_none_or(|class| is_allowed(policies, class, direction, &sent.connection, &peers))
    };
    let to_mac = &sent.frame[..6];
    let is_addressed = to_mac == BROADCAST || to_mac == super::scene::mac(end) || to_mac == UNKNOWN && !isolated(end);
    let is_restricted = isolated(from) || isolated(end);
    is_addressed
        && !(sent.is_fragment && is_restricted)
        && allows(from, Direction::Egress)
        && allows(end, Direction::Ingress)
}

fn check(scene: &mut Scene, policies: &[Policy], random: &mut Random) -> [usize; 2] {
    let mut counts = [0; 2];
    for from in ENDS {
        // The switch learns where it is.
        scene.settle(from);
    }
    for from in ENDS {
        let sent: Vec<Sent> = (0..PACKETS).map(|number| packet(random, from, number)).collect();
        let frames: Vec<Vec<u8>> = sent.iter().map(|sent| sent.frame.clone()).collect();
        for (end, places) in scene.arrived(from, &frames) {
            for (place, sent) in sent.iter().enumerate() {
                let expected = gets(scene, policies, from, end, sent);
                let found = places.contains(&place) || expected && scene.arrives_again(from, end, &sent.frame);
                let what = format!("{from} to {} at {end}: {:?} {:02x?}", sent.to, sent.connection, sent.frame);
                assert_eq!(found, expected, "{what}\n{policies:#?}");
                counts[usize::from(found)] += 1;
            }
        }
    }
    counts
}

#[test]
#[ignore = "long: make nightly"]
fn packets_reach_the_ends_that_random_policies_let_have_them() {
    run(|scene| {
        let mut counts = [0; 2];
        let mut flows = BTreeSet::new();
        for seed in 0..SETS {
            let mut random = Random::new(seed);
            let policies: Vec<Policy> = (0..random.below(5)).map(|_| policy(&mut random)).collect();
            classes(scene, &mut random);
            scene.enforce(&policies, &[]);
            scene.forget_connections();
            let [refused, arrived] = check(scene, &policies, &mut random);
            counts = [counts[0] + refused, counts[1] + arrived];
            flows.insert(scene.connect().flows(&usnet_openflow::FlowFilter::default()).expect("flows").len());
        }
        println!("{} packets did not arrive, {} did; {flows:?} flows", counts[0], counts[1]);
        assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
    });
}
