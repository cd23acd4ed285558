//! Which policies are for which ports of a bridge.

use super::BridgePolicies;
use super::port::{PolicyPort, Ports, Subjects};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::pods::SelectorId;
use usnet_crds::policy::rule::PolicyRule;
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::PortNumber;

/// The ports of a bridge, and which policies are for which of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssignedPorts {
    /// What they follow from, besides the policies.
    of: Arc<BTreeMap<PortNumber, PolicyPort>>,
    pub(super) ports: Arc<Ports>,
    pub(super) assigned: Arc<Assigned>,
}

impl AssignedPorts {
    /// Those of a bridge; `before` if ports and policies are the same.
    pub(super) fn of(bridge: &BridgePolicies<'_>, before: Option<&Self>) -> Self {
        let is_same =
            |before: &&Self| Arc::ptr_eq(&before.assigned.policies, bridge.policies) && before.of == *bridge.ports;
        before.filter(is_same).cloned().unwrap_or_else(|| {
            let subjects = Subjects::of(bridge);
            let assigned = Assigned::of(bridge.policies, &subjects, before.map(|before| &before.assigned));
            Self { of: Arc::clone(bridge.ports), ports: Arc::new(subjects.ports), assigned }
        })
    }
}

/// The policies of a bridge, with the classes of ports that each of them is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assigned {
    policies: Arc<[Policy]>,
    /// The numbers of the classes, in the order of policies.
    classes: Vec<Vec<u16>>,
    /// The selectors of peers in rules that a port of the bridge has.
    ingress_peers: BTreeSet<SelectorId>,
    egress_peers: BTreeSet<SelectorId>,
}

impl Assigned {
    /// Those of these ports; `before` if they are the same.
    fn of(policies: &Arc<[Policy]>, subjects: &Subjects<'_>, before: Option<&Arc<Self>>) -> Arc<Self> {
        let classes: Vec<Vec<u16>> = policies.iter().map(|policy| subjects.of_policy(policy)).collect();
        let is_same = |before: &&Arc<Self>| {
            let is_one = Arc::ptr_eq(&before.policies, policies);
            before.classes == classes && (is_one || before.policies == *policies)
        };
        before.filter(is_same).cloned().unwrap_or_else(|| {
            let [ingress_peers, egress_peers] = Direction::ALL.map(|direction| peers(policies, &classes, direction));
            Arc::new(Self { policies: Arc::clone(policies), classes, ingress_peers, egress_peers })
        })
    }

    pub(super) const fn peers(&self, direction: Direction) -> &BTreeSet<SelectorId> {
        match direction {
            Direction::Ingress => &self.ingress_peers,
            Direction::Egress => &self.egress_peers,
        }
    }

    /// Each rule once, with the classes that have it.
    pub(super) fn rules(&self, direction: Direction) -> BTreeMap<&PolicyRule, BTreeSet<u16>> {
        let mut rules: BTreeMap<&PolicyRule, BTreeSet<u16>> = BTreeMap::new();
        for (policy, classes) in with_ports(&self.policies, &self.classes) {
            for rule in policy.rules(direction).unwrap_or_default() {
                rules.entry(rule).or_default().extend(classes);
            }
        }
        rules
    }
}

fn peers(policies: &[Policy], classes: &[Vec<u16>], direction: Direction) -> BTreeSet<SelectorId> {
    let rules = with_ports(policies, classes).filter_map(|(policy, _)| policy.rules(direction)).flatten();
    rules.filter(|rule| !rule.has_any_peer()).flat_map(|rule| rule.peer_pods.iter().copied()).collect()
}

/// The policies that are for a port of the bridge, with the classes of these.
fn with_ports<'a>(policies: &'a [Policy], classes: &'a [Vec<u16>]) -> impl Iterator<Item = (&'a Policy, &'a Vec<u16>)> {
    policies.iter().zip(classes).filter(|(_, classes)| !classes.is_empty())
}
