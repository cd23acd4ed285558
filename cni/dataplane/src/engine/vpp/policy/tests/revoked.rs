//! What rules no longer allow ends, and what they still allow goes on.

use super::model::{Packet, Port, TCP, Towards};
use super::random::{class, connection, pairs, pods, policies};
use crate::engine::vpp::policy::rule_set::RuleSet;
use crate::engine::vpp::policy::rules::compile;
use std::collections::BTreeMap;
use usnet_crds::policy::pods::PodAddresses;
use usnet_crds::policy::verdict::is_allowed;
use usnet_crds::policy::{Direction, Policy};
use usnet_test_fuzz::Random;

const ROUNDS: u64 = 2000;
const MANY: usize = 10_000;

fn ends(direction: Direction) -> [Towards; 2] {
    match direction {
        Direction::Ingress => [Towards::Pod, Towards::Peer],
        Direction::Egress => [Towards::Peer, Towards::Pod],
    }
}

/// The port as it is after its rules have changed, with the sessions that are left.
fn changed(mut port: Port, before: &RuleSet, after: &RuleSet) -> Port {
    port.rules = compile(after, Some(before));
    if after.outdates_sessions_of(before) {
        port.sessions.clear();
    }
    port
}

/// What became of a connection.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Ended,
    Kept,
    /// The rules of now allow what may be another connection, or end sessions.
    Other,
}

struct Change<'a> {
    policies: [&'a [Policy]; 2],
    rules: [&'a RuleSet; 2],
    pods: &'a PodAddresses,
}

impl Change<'_> {
    fn allows(&self, after: bool, direction: Direction, packet: Packet) -> bool {
        let policies = self.policies[usize::from(after)];
        is_allowed(policies, &class(), direction, &connection(packet), self.pods)
    }

    /// What becomes of a connection that was allowed before, with an answer that is under way.
    fn fate(&self, direction: Direction, first: Packet) -> Fate {
        let [before, after] = self.rules;
        let [there, back] = ends(direction);
        let mut port = Port::new(compile(before, None));
        assert!(port.passes(first, there) && port.passes(first.answer(), back));
        let mut port = changed(port, before, after);
        let (next, answer) = (first.next(), first.next().answer());
        let (answer_passes, passes) = (port.passes(answer, back), port.passes(next, there));
        let other = opposite(direction);
        if self.allows(true, direction, first) {
            let is_kept = next.protocol == TCP && !after.outdates_sessions_of(before);
            assert!(passes || !is_kept, "{direction:?} {next:?} {:?}", self.policies);
            return if is_kept { Fate::Kept } else { Fate::Other };
        }
        let is_open = after.in_direction(other).is_none();
        // A connection of the other direction with these ports may be allowed.
        let may_be_other =
            if is_open { before.in_direction(direction).is_none() } else { self.allows(true, other, answer) };
        if may_be_other {
            return Fate::Other;
        }
        assert!(!passes && (is_open || !answer_passes), "{direction:?} {next:?} {:?}", self.policies);
        Fate::Ended
    }
}

const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Ingress => Direction::Egress,
        Direction::Egress => Direction::Ingress,
    }
}

#[test]
fn connections_end_with_their_rule_and_others_go_on() {
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let pods = pods(&mut random);
        let policies = [(); 2].map(|()| policies(&mut random));
        let rules = policies.each_ref().map(|policies| RuleSet::of(policies, &class(), &pods, MANY).unwrap());
        if !rules.iter().all(RuleSet::is_restricted) {
            continue;
        }
        let change = Change { policies: policies.each_ref().map(Vec::as_slice), rules: rules.each_ref(), pods: &pods };
        for (pod, peer, service) in pairs() {
            for (direction, source, destination) in [(Direction::Ingress, peer, pod), (Direction::Egress, pod, peer)] {
                let first = Packet::first(source, destination, service);
                if change.allows(false, direction, first) {
                    *fates.entry(change.fate(direction, first)).or_default() += 1;
                }
            }
        }
    }
    assert!(fates[&Fate::Ended] > 1000 && fates[&Fate::Kept] > 1000);
}
