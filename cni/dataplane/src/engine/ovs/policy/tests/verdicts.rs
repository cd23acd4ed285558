//! Which ports get a frame, by the policies.

use super::frame::{Content, Frame, Tuple};
use super::model::Switch;
use super::random::{self, NAMESPACES, VIRTUAL, all_ports, mac, number, ports};
use crate::engine::ovs::policy::{BridgePolicies, compile};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::policy::verdict::{is_allowed, is_isolated};
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::PortNumber;
use usnet_test_fuzz::Random;

const SETS: u64 = 150;
const FRAMES: usize = 200;
const ZONE: u16 = 9;

/// What policies say of ports.
struct Said<'a>(&'a [Policy]);

impl Said<'_> {
    /// The namespace of a pod; none of others, and none of the closed one.
    fn namespace(port: PortNumber) -> Option<&'static str> {
        NAMESPACES.get(usize::from(port.number() - 1)).copied().filter(|name| !name.is_empty())
    }

    fn is_closed(port: PortNumber) -> bool {
        NAMESPACES.get(usize::from(port.number() - 1)) == Some(&"")
    }

    fn is_isolated(&self, port: PortNumber) -> bool {
        let isolated = |name| Direction::ALL.iter().any(|direction| is_isolated(self.0, name, *direction));
        Self::namespace(port).is_some_and(isolated)
    }

    fn allows(&self, port: PortNumber, direction: Direction, tuple: Tuple) -> bool {
        Self::namespace(port).is_none_or(|name| is_allowed(self.0, name, direction, &tuple.connection()))
    }

    /// Whether both ends allow a connection.
    fn allows_between(&self, from: PortNumber, to: PortNumber, tuple: Tuple) -> bool {
        self.allows(from, Direction::Egress, tuple) && self.allows(to, Direction::Ingress, tuple)
    }

    /// Who gets a frame that begins a connection, or is of none.
    fn receivers(&self, frame: &Frame, learned: &BTreeMap<[u8; 6], PortNumber>) -> BTreeSet<PortNumber> {
        let from = frame.in_port;
        let is_virtual = frame.dst_mac == VIRTUAL && self.is_isolated(number(1));
        let has_mac = |port: &PortNumber| frame.dst_mac == mac(port.number());
        let owner = all_ports().into_iter().find(has_mac);
        if Self::is_closed(from) || is_virtual || owner.is_some_and(Self::is_closed) {
            return BTreeSet::new();
        }
        // Only an isolated port is known before it sends.
        let is_known = owner.is_some_and(|port| self.is_isolated(port)) || learned.contains_key(&frame.dst_mac);
        let gets = |to: &PortNumber| {
            if *to == from || Self::is_closed(*to) {
                return false;
            }
            let is_flooded = frame.is_multicast() || !is_known && !self.is_isolated(*to);
            if owner != Some(*to) && !is_flooded {
                return false;
            }
            let is_restricted = self.is_isolated(from) || self.is_isolated(*to);
            match frame.content {
                Content::Arp | Content::Neighbor => true,
                Content::Packet(tuple) => self.allows_between(from, *to, tuple),
                Content::Fragment(_) => !is_restricted,
                Content::Malformed(_) | Content::ErrorAbout(_) => !is_restricted && !frame.is_multicast(),
                Content::Other(_) => !self.is_isolated(*to),
            }
        };
        all_ports().iter().copied().filter(gets).collect()
    }
}

fn learned() -> BTreeMap<[u8; 6], PortNumber> {
    all_ports().into_iter().map(|port| (mac(port.number()), port)).collect()
}

fn switch(policies: &[Policy], learned: BTreeMap<[u8; 6], PortNumber>) -> Switch {
    let ports = ports();
    let desired = compile(&BridgePolicies { zone: ZONE, policies, ports: &ports }).unwrap();
    let keys: BTreeSet<_> =
        desired.flows.iter().map(|flow| (flow.table, flow.priority, flow.matches.encode())).collect();
    assert_eq!(keys.len(), desired.flows.len(), "a flow replaces another one");
    Switch { desired, ports: all_ports(), learned, connections: BTreeSet::new() }
}

#[test]
fn each_frame_reaches_the_ports_that_policies_let_have_it() {
    let mut received = [0_usize; 2];
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let policies = random::policies(&mut random);
        let learned = if seed % 2 == 0 { learned() } else { BTreeMap::new() };
        let mut switch = switch(&policies, learned.clone());
        for _ in 0..FRAMES {
            let (frame, _) = random::frame(&mut random);
            // Each frame begins a connection.
            switch.connections.clear();
            let expected = Said(&policies).receivers(&frame, &learned);
            let found = switch.send(frame);
            assert_eq!(found, expected, "seed {seed}: {frame:?}\n{policies:?}");
            received[usize::from(!found.is_empty())] += 1;
        }
    }
    assert!(received.iter().all(|count| *count > 5_000), "{received:?}");
}

/// Policies change under connections that were remembered before.
#[test]
fn answers_and_errors_pass_while_the_first_packet_is_allowed() {
    let mut outcomes = [0_usize; 2];
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let before = random::policies(&mut random);
        let mut switch = switch(&before, BTreeMap::new());
        let mut begun = Vec::new();
        for _ in 0..FRAMES / 4 {
            let (from, to) = random::ends(&mut random);
            let tuple = random::tuple(&mut random, from, to);
            let frame = Frame { in_port: number(from), dst_mac: mac(to), content: Content::Packet(tuple) };
            switch.send(frame);
            begun.push((number(from), number(to), tuple));
        }
        let after = if seed % 3 == 0 { before.clone() } else { random::policies(&mut random) };
        switch.desired = self::switch(&after, BTreeMap::new()).desired;
        let said = Said(&after);
        for (from, to, tuple) in begun {
            if switch.connections.contains(&tuple.reversed()) {
                continue;
            }
            let is_remembered = switch.connections.contains(&tuple);
            let is_restricted = said.is_isolated(from) || said.is_isolated(to);
            let is_closed = Said::is_closed(from) || Said::is_closed(to);
            let of_answer =
                Frame { in_port: to, dst_mac: mac(from.number()), content: Content::Packet(tuple.reversed()) };
            let of_error = Frame { content: Content::ErrorAbout(tuple), ..of_answer };
            let known = switch.connections.clone();
            let expected = match (is_closed, is_restricted, is_remembered) {
                (true, _, _) => false,
                (_, false, _) => true,
                (_, _, true) => said.allows_between(from, to, tuple),
                (_, _, false) => said.allows_between(to, from, tuple.reversed()),
            };
            assert_eq!(switch.send(of_answer).contains(&from), expected, "seed {seed}: {of_answer:?}\n{after:?}");
            outcomes[usize::from(expected)] += 1;
            switch.connections = known;
            let expected = !is_closed && (is_remembered || !is_restricted);
            assert_eq!(switch.send(of_error).contains(&from), expected, "seed {seed}: {of_error:?}");
            let to_all = Frame { dst_mac: super::frame::BROADCAST, ..of_answer };
            if is_remembered && said.is_isolated(to) {
                assert_eq!(switch.send(to_all), BTreeSet::new(), "an answer has one receiver");
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 500), "{outcomes:?}");
}
