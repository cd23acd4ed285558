//! What a new connection may do is what policies say.

use super::model::{ACK, Packet, Port, SYN, TCP, Towards};
use super::random::{class, connection, pairs, pods, policies};
use crate::engine::vpp::policy::rule_set::RuleSet;
use crate::engine::vpp::policy::rules::{closed, compile};
use std::net::IpAddr;
use usnet_crds::policy::Direction;
use usnet_crds::policy::verdict::is_allowed;
use usnet_test_fuzz::Random;

const ROUNDS: u64 = 1000;
const MANY: usize = 10_000;

#[test]
fn a_connection_passes_with_its_answers_exactly_if_policies_allow_it() {
    let mut allowed_count = [0_usize; 2];
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let (policies, pods, class) = (policies(&mut random), pods(&mut random), class());
        let rules = RuleSet::of(&policies, &class, &pods, MANY).unwrap();
        if !rules.is_restricted() {
            continue;
        }
        let compiled = compile(&rules, None);
        for (pod, peer, service) in pairs() {
            for (direction, first) in [
                (Direction::Ingress, Packet::first(peer, pod, service)),
                (Direction::Egress, Packet::first(pod, peer, service)),
            ] {
                let expected = is_allowed(&policies, &class, direction, &connection(first), &pods);
                let mut port = Port::new(compiled.clone());
                let [there, back] = match direction {
                    Direction::Ingress => [Towards::Pod, Towards::Peer],
                    Direction::Egress => [Towards::Peer, Towards::Pod],
                };
                assert_eq!(port.passes(first, there), expected, "{seed} {direction:?} {first:?} {policies:?}");
                allowed_count[usize::from(expected)] += 1;
                if expected {
                    for packet in [first.answer(), first.next(), first.next().answer()] {
                        let towards = if packet.source == first.source { there } else { back };
                        assert!(port.passes(packet, towards), "{seed} {packet:?} {policies:?}");
                    }
                }
            }
        }
    }
    assert!(allowed_count.iter().all(|count| *count > MANY), "{allowed_count:?}");
}

/// The packets of no connection that anything allows.
#[test]
fn packets_of_tcp_without_a_connection_do_not_pass_a_restricted_direction() {
    let mut count = 0;
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let (policies, pods, class) = (policies(&mut random), pods(&mut random), class());
        let rules = RuleSet::of(&policies, &class, &pods, MANY).unwrap();
        if rules.ingress.is_none() || rules.egress.is_some() {
            continue;
        }
        for (pod, peer, service) in pairs().filter(|(.., service)| service.is_some_and(|(of, _)| of == TCP)) {
            let first = Packet::first(peer, pod, service);
            if is_allowed(&policies, &class, Direction::Ingress, &connection(first), &pods) {
                continue;
            }
            for flags in [SYN, SYN | ACK, ACK, 0, 0x01, 0x04] {
                let mut port = Port::new(compile(&rules, None));
                assert!(!port.passes(Packet { flags, ..first }, Towards::Pod), "{seed} {flags} {policies:?}");
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn neighbors_are_found_and_errors_arrive_whatever_policies_say() {
    let none = RuleSet { ingress: Some([].into()), egress: Some([].into()) };
    let packet = |text: [&str; 2], protocol: u8, from: u16| {
        let [source, destination] = text.map(|text| text.parse::<IpAddr>().unwrap());
        Packet { source, destination, protocol, from, to: 0, flags: 0 }
    };
    let discovery = [133, 134, 135, 136, 143].map(|kind| packet(["fe80::1", "ff02::1"], 58, kind));
    let errors = [1, 2, 3, 4].map(|kind| packet(["fd00::1", "fd00::9"], 58, kind));
    let of_ipv4 = [3, 11, 12].map(|kind| packet(["10.0.0.1", "10.0.0.9"], 1, kind));
    let others = [packet(["fd00::1", "fd00::9"], 58, 128), packet(["fd00::1", "fd00::9"], 58, 137)];
    let others = others.into_iter().chain([8, 5, 13].map(|kind| packet(["10.0.0.1", "10.0.0.9"], 1, kind)));
    let passes = |rules, packet| {
        [Towards::Pod, Towards::Peer].map(|towards| Port::new(Clone::clone(rules)).passes(packet, towards))
    };
    let (restricted, closed) = (compile(&none, None), closed());
    for packet in discovery {
        assert_eq!((passes(&restricted, packet), passes(&closed, packet)), ([true; 2], [true; 2]), "{packet:?}");
    }
    for packet in errors.into_iter().chain(of_ipv4) {
        assert_eq!((passes(&restricted, packet), passes(&closed, packet)), ([true; 2], [false; 2]), "{packet:?}");
    }
    for packet in others {
        assert_eq!((passes(&restricted, packet), passes(&closed, packet)), ([false; 2], [false; 2]), "{packet:?}");
    }
}

#[test]
fn more_permits_than_there_may_be_are_none() {
    let mut random = Random::new(7);
    let all: Vec<_> = (0..50).flat_map(|_| policies(&mut random)).collect();
    let (class, pods) = (class(), pods(&mut random));
    let permits = |most| RuleSet::of(&all, &class, &pods, most).is_some();
    let count = RuleSet::of(&all, &class, &pods, MANY).unwrap();
    let most = [count.ingress, count.egress].iter().flatten().map(std::collections::BTreeSet::len).max().unwrap();
    assert_eq!((permits(most), permits(most - 1)), (true, false));
}
