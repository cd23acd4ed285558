//! Parts that are compiled after those of another state, against the same that are compiled alone.

use super::random;
use crate::engine::ovs::policy::{BridgePolicies, ChangedFlows, PolicyParts, PolicyPort};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::PodAddresses;
use usnet_openflow::PortNumber;
use usnet_openflow::flow::{Cookie, Flow};
use usnet_test_fuzz::Random;

const SEQUENCES: u64 = 60;
const STATES: usize = 12;

struct State {
    zone: u16,
    policies: Arc<[Policy]>,
    ports: Arc<BTreeMap<PortNumber, PolicyPort>>,
    peers: Arc<PodAddresses>,
}

impl State {
    fn random(random: &mut Random) -> Self {
        let ports = random::ports(random);
        let peers = Arc::new(random::peers(random, &ports));
        Self { zone: 9, policies: random::policies(random).into(), peers, ports: Arc::new(ports) }
    }

    /// Changes one thing, or nothing but where it is in memory.
    fn change(&mut self, random: &mut Random) {
        let other = Self::random(random);
        match random.below(10) {
            0 => self.policies = other.policies,
            1 => self.ports = other.ports,
            2 | 3 => self.peers = other.peers,
            4 => drop(Arc::make_mut(&mut self.peers).0.pop_first()),
            5 => drop(Arc::make_mut(&mut self.ports).pop_last()),
            6 => self.policies = self.policies.to_vec().into(),
            7 | 8 => {
                let class = self.peers.0.values().nth(random.below(4)).cloned();
                Arc::make_mut(&mut self.peers).0.extend(class.map(|class| ([192, 0, 2, 7].into(), class)));
            }
            _ => self.zone = if random.below(4) == 0 { 7 } else { 9 },
        }
    }

    fn compiled(&self, before: Option<&PolicyParts>) -> PolicyParts {
        let Self { zone, policies, ports, peers } = self;
        PolicyParts::of(&BridgePolicies { zone: *zone, policies, ports, peers }, before).unwrap()
    }
}

type Key = (u8, u16, Cookie);

fn keys(flows: &[Flow]) -> BTreeSet<Key> {
    flows.iter().map(|flow| (flow.table, flow.priority, flow.cookie)).collect()
}

#[test]
fn what_is_compiled_after_another_state_is_what_is_compiled_alone() {
    let mut changed_alone = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::new(seed);
        let mut state = State::random(&mut random);
        let mut before = state.compiled(None);
        for _ in 0..STATES {
            state.change(&mut random);
            let now = state.compiled(Some(&before));
            assert_eq!(now, state.compiled(None), "seed {seed}");
            let of_addresses =
                now.flows().iter().filter(|flow| matches!(flow.table, 21 | 22) && flow.priority > 0).count();
            assert_eq!(now.count() + of_addresses, now.flows().len(), "seed {seed}");
            let ports = (1..4).filter(|_| random.below(4) == 0).map(random::number).collect();
            changed_alone += usize::from(check(&before, &now, &ports) < now.flows().len() / 2);
            before = now;
        }
    }
    assert!(changed_alone > 100, "{changed_alone}");
}

/// Checks that all that differs is among the changes, and all of these ports; returns how many
/// changes there are.
fn check(before: &PolicyParts, now: &PolicyParts, ports: &BTreeSet<PortNumber>) -> usize {
    let changed: ChangedFlows = now.changed_since(before, ports);
    let of_changed = [&changed.before, &changed.now].map(|flows| keys(flows));
    let all = [before.flows(), now.flows()].map(|flows| keys(&flows));
    let rest = |place: usize| all[place].difference(&of_changed[place]).copied().collect::<BTreeSet<Key>>();
    assert_eq!(rest(0), rest(1));
    let is_of_port = |flow: &&Flow| flow.matches.in_port.is_some_and(|number| ports.contains(&number));
    let of_ports: Vec<Flow> = now.flows().iter().filter(is_of_port).cloned().collect();
    assert!(keys(&of_ports).is_subset(&of_changed[1]));
    assert!(!now.has_groups_of(before) || now.groups() == before.groups());
    changed.now.len()
}
