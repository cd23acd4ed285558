//! Policies that change while packets are sent: what the switch remembers of how it has forwarded
//! packets counts no more.

use super::changes::server;
use super::keeping::{policies, ports};
use super::packets::{TCP, UDP};
use super::scene::{Scene, ends, run, run_by};
use crate::open_vswitch::TIMEOUT;
use crate::open_vswitch::packet_threads::FramesBy;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::{BridgeFlows, NetworkPolicies, PortOwner, guarded_flows};
use usnet_planner::testing::attachment;
use usnet_test_fuzz::Random;

const STEPS: u16 = 50;
const PORTS: [u16; 3] = [80, 90, 5353];
/// The time after which a change counts, on a machine that has other work.
const LATE: Duration = Duration::from_millis(500);

/// What the bridge is to have: no policies, policies that restrict no pod, or those by which b may
/// be reached at some ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Disabled,
    Unrestricted,
    Only(u16, u16),
}

const STATES: [State; 4] = [State::Disabled, State::Unrestricted, State::Only(80, 80), State::Only(80, 95)];

impl State {
    fn flows(self, scene: &Scene) -> BridgeFlows {
        let mut known = policies();
        let owner = PortOwner { namespace: "c".parse().expect("a namespace"), uid: "uid-c".to_owned() };
        known.owners.insert(attachment("c"), owner);
        let with = |policies: Vec<_>| Some(NetworkPolicies { policies: policies.into(), ..known });
        let policies = match self {
            Self::Disabled => None,
            Self::Unrestricted => with(Vec::new()),
            Self::Only(first, last) => with(server(first, last)),
        };
        BridgeFlows::new(ports(scene), policies)
    }

    fn allows(self, port: u16) -> bool {
        match self {
            Self::Disabled | Self::Unrestricted => true,
            Self::Only(first, last) => (first..=last).contains(&port),
        }
    }
}

/// A bridge as the agent keeps it.
struct Kept<'a> {
    scene: &'a mut Scene,
    flows: BridgeFlows,
    /// The source port of the next packet, which begins a connection.
    next: u16,
}

impl<'a> Kept<'a> {
    fn new(scene: &'a mut Scene, state: State) -> Self {
        let flows = state.flows(scene);
        guarded_flows::restore(&scene.management(), TIMEOUT, &flows).expect("flows");
        // The switch learns where it is.
        scene.settle("b");
        Self { scene, flows, next: 10_000 }
    }

    fn set(&mut self, state: State) {
        let flows = state.flows(self.scene);
        guarded_flows::update(&self.scene.management(), TIMEOUT, &self.flows, &flows).expect("flows");
        self.flows = flows;
        self.scene.settle_flows();
    }

    /// Whether new connections from outside to a port of b are as they should be, for some
    /// packets.
    #[track_caller]
    fn has(&mut self, state: State, protocol: u8, port: u16, is_ipv4: bool, what: &str) {
        let expected = state.allows(port);
        let until = Instant::now() + LATE;
        loop {
            self.next += 1;
            let frame = ends("u", "b", is_ipv4).first(protocol, [self.next, port]);
            let found = self.scene.arrived("u", &[frame])["b"].contains(&0);
            if found == expected {
                return;
            }
            assert!(Instant::now() < until, "{state:?}: {protocol} {port}, IPv4: {is_ipv4}, arrives: {found}; {what}");
        }
    }
}

/// Open vSwitch 3.1.0 has the datagrams of IPv6 pass in the end, because what was kept for all of
/// IPv6 while there were no policies was changed in the place of what was kept for these.
#[test]
fn datagrams_that_passed_without_policies_do_not_when_these_are_enabled_again() {
    run(|scene| {
        let mut kept = Kept::new(scene, State::Unrestricted);
        kept.has(State::Unrestricted, UDP, 5353, true, "first");
        kept.has(State::Unrestricted, UDP, 5353, false, "first");
        for round in 0..3 {
            let what = format!("round {round}");
            kept.set(State::Only(80, 80));
            kept.has(State::Only(80, 80), UDP, 5353, false, &what);
            kept.set(State::Disabled);
            kept.has(State::Disabled, UDP, 5353, false, &what);
            kept.has(State::Disabled, TCP, 80, false, &what);
            kept.set(State::Only(80, 80));
            for protocol in [UDP, TCP] {
                kept.has(State::Only(80, 80), protocol, 5353, false, &what);
            }
        }
    });
}

/// Changes policies at random, each time with some packets of all kinds.
fn change_at_random(scene: &mut Scene, seed: u64, steps: u16) {
    let mut random = Random::new(seed);
    let mut kept = Kept::new(scene, State::Disabled);
    for step in 0..steps {
        let state = *random.pick(&STATES);
        kept.set(state);
        for _ in 0..random.below(4) {
            let (protocol, port) = (*random.pick(&[TCP, UDP]), *random.pick(&PORTS));
            let what = format!("step {step} of seed {seed}");
            kept.has(state, protocol, port, random.below(2) == 0, &what);
        }
    }
}

#[test]
fn each_change_of_policies_counts_whatever_was_sent_before() {
    run(|scene| change_at_random(scene, 7, STEPS));
}

#[test]
fn each_change_of_policies_counts_with_several_packet_threads() {
    run_by(FramesBy::TwoThreads, |scene| change_at_random(scene, 8, STEPS));
}

#[test]
fn each_change_of_policies_counts_by_af_xdp() {
    run_by(FramesBy::AfXdp, |scene| change_at_random(scene, 11, STEPS));
}

#[test]
#[ignore = "long: some minutes; `make nightly` runs it"]
fn each_of_many_changes_of_policies_counts() {
    run(|scene| change_at_random(scene, 9, 600));
    run_by(FramesBy::TwoThreads, |scene| change_at_random(scene, 10, 300));
}
