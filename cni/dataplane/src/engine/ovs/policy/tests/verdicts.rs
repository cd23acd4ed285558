//! Which ports get a frame, by the policies.

use super::frame::{Content, Frame, Tuple};
use super::model::Switch;
use super::random::{self, VIRTUAL, all_ports, mac, number};
use crate::engine::ovs::policy::{BridgePolicies, PolicyPort, PolicyPortState, compile};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::pods::{PodAddresses, PodClass};
use usnet_crds::policy::verdict::{is_allowed, is_isolated};
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::PortNumber;
use usnet_test_fuzz::Random;

const SETS: u64 = 150;
const FRAMES: usize = 200;
const ZONE: u16 = 9;

/// What policies say of ports.
struct Said {
    policies: Vec<Policy>,
    ports: BTreeMap<PortNumber, PolicyPort>,
    peers: PodAddresses,
}

impl Said {
    fn random(random: &mut Random) -> Self {
        let (policies, ports) = (random::policies(random), random::ports(random));
        let peers = random::peers(random, &ports);
        Self { policies, ports, peers }
    }

    /// The class of a pod; none of others, and none of the closed one.
    fn class(&self, port: PortNumber) -> Option<&PodClass> {
        match &self.ports.get(&port)?.state {
            PolicyPortState::OfClass(class) => Some(class),
            PolicyPortState::Closed => None,
        }
    }

    fn is_closed(&self, port: PortNumber) -> bool {
        self.ports.get(&port).is_some_and(|port| port.state == PolicyPortState::Closed)
    }

    fn is_isolated(&self, port: PortNumber) -> bool {
        let isolated = |class| Direction::ALL.iter().any(|direction| is_isolated(&self.policies, class, *direction));
        self.class(port).is_some_and(isolated)
    }

    fn allows(&self, port: PortNumber, direction: Direction, tuple: Tuple) -> bool {
        let (policies, peers) = (&self.policies, &self.peers);
        let allows = |class| is_allowed(policies, class, direction, &tuple.connection(), peers);
        self.class(port).is_none_or(allows)
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
        if self.is_closed(from) || is_virtual || owner.is_some_and(|owner| self.is_closed(owner)) {
            return BTreeSet::new();
        }
        // Only an isolated port is known before it sends.
        let is_known = owner.is_some_and(|port| self.is_isolated(port)) || learned.contains_key(&frame.dst_mac);
        let gets = |to: &PortNumber| {
            if *to == from || self.is_closed(*to) {
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

fn switch(said: &Said, learned: BTreeMap<[u8; 6], PortNumber>) -> Switch {
    let Said { policies, ports, peers } = said;
    let policies = &Arc::from(policies.as_slice());
    let (ports, peers) = (&Arc::new(ports.clone()), &Arc::new(peers.clone()));
    let desired = compile(&BridgePolicies { zone: ZONE, policies, ports, peers }).unwrap();
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
        let said = Said::random(&mut random);
        let learned = if seed % 2 == 0 { learned() } else { BTreeMap::new() };
        let mut switch = switch(&said, learned.clone());
        for _ in 0..FRAMES {
            let (frame, _) = random::frame(&mut random);
            // Each frame begins a connection.
            switch.connections.clear();
            let expected = said.receivers(&frame, &learned);
            let found = switch.send(frame);
            assert_eq!(found, expected, "seed {seed}: {frame:?}\n{:?}", said.policies);
            received[usize::from(!found.is_empty())] += 1;
        }
    }
    assert!(received.iter().all(|count| *count > 5_000), "{received:?}");
}

/// Policies and labels of pods change under connections that were remembered before.
#[test]
fn answers_and_errors_pass_while_the_first_packet_is_allowed() {
    let mut outcomes = [0_usize; 2];
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let before = Said::random(&mut random);
        let mut switch = switch(&before, BTreeMap::new());
        let mut begun = Vec::new();
        for _ in 0..FRAMES / 4 {
            let (from, to) = random::ends(&mut random);
            let tuple = random::tuple(&mut random, from, to);
            let frame = Frame { in_port: number(from), dst_mac: mac(to), content: Content::Packet(tuple) };
            switch.send(frame);
            begun.push((number(from), number(to), tuple));
        }
        let said = if seed % 3 == 0 { before } else { Said::random(&mut random) };
        switch.desired = self::switch(&said, BTreeMap::new()).desired;
        for (from, to, tuple) in begun {
            if switch.connections.contains(&tuple.reversed()) {
                continue;
            }
            let is_remembered = switch.connections.contains(&tuple);
            let is_restricted = said.is_isolated(from) || said.is_isolated(to);
            let is_closed = said.is_closed(from) || said.is_closed(to);
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
            assert_eq!(
                switch.send(of_answer).contains(&from),
                expected,
                "seed {seed}: {of_answer:?}\n{:?}",
                said.policies
            );
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
