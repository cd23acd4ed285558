//! What the flows of a bridge follow from, part by part. A change of a port, an address or a rule
//! changes a part, and the flows of others are not made again.

use super::assigned::AssignedPorts;
use super::differing::differing;
use super::flood::Flood;
use super::limits::{self, TooLarge};
use super::pods::{self, Peers};
use super::port::{Isolated, PolicyPort, PolicyPortState, Ports};
use super::rules::{self, Rules};
use super::{BridgePolicies, classify, connections, destination};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::PodAddresses;
use usnet_openflow::PortNumber;
use usnet_openflow::flow::{Flow, Group};

/// How many flows the MAC address of a port has.
const FLOWS_OF_MAC: usize = 6;

/// The parts of the flows of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyParts {
    zone: u16,
    ports: AssignedPorts,
    peers: Peers,
    /// Those of both directions, in their order.
    rules: [Arc<Rules>; 2],
}

/// The flows that two states of a bridge do not have in common.
#[derive(Debug, Default)]
pub(in crate::engine::ovs) struct ChangedFlows {
    pub(in crate::engine::ovs) before: Vec<Flow>,
    pub(in crate::engine::ovs) now: Vec<Flow>,
}

impl PolicyParts {
    /// The parts of a bridge. What is the same as `before` is not made again.
    ///
    /// # Errors
    /// The policies need more than a switch takes.
    pub fn of(bridge: &BridgePolicies<'_>, before: Option<&Self>) -> Result<Self, TooLarge> {
        let ports = AssignedPorts::of(bridge, before.map(|before| &before.ports));
        let before = before.filter(|before| Arc::ptr_eq(&before.ports.assigned, &ports.assigned));
        let peers = Peers::of(bridge.peers, &ports.assigned, before.map(|before| &before.peers));
        limits::check_addresses(peers.addresses())?;
        let rules = match before.and_then(|before| before.rules_for(&peers)) {
            Some(rules) => rules,
            None => {
                let parts = peers.classes.iter().map(|classes| rules::parts(&ports.assigned, classes)).sum();
                limits::check_parts(parts)?;
                peers.classes.each_ref().map(|classes| Arc::new(Rules::new(&ports.assigned, classes)))
            }
        };
        let parts = Self { zone: bridge.zone, ports, peers, rules };
        if before.is_none_or(|before| !parts.has_ports_and_rules_of(before)) {
            let most = parts.rules.iter().map(|rules| rules.most_of_match()).max();
            limits::check(parts.count(), most.unwrap_or_default())?;
        }
        Ok(parts)
    }

    /// Whether there are as many flows besides those of addresses.
    fn has_ports_and_rules_of(&self, other: &Self) -> bool {
        let has_rules = self.rules.iter().zip(&other.rules).all(|(rules, others)| Arc::ptr_eq(rules, others));
        has_rules && self.has_ports_of(other)
    }

    /// Those of a bridge whose policies are not known: all ports of pods are closed.
    #[must_use]
    pub fn closed(zone: u16, ports: &BTreeMap<PortNumber, PolicyPort>) -> Self {
        let closed = |port: &PolicyPort| PolicyPort { state: PolicyPortState::Closed, ..port.clone() };
        let ports = Arc::new(ports.iter().map(|(number, port)| (*number, closed(port))).collect());
        let (policies, addresses) = ([].into(), Arc::<PodAddresses>::default());
        let bridge = BridgePolicies { zone, policies: &policies, ports: &ports, peers: &addresses };
        let ports = AssignedPorts::of(&bridge, None);
        let peers = Peers::of(&addresses, &ports.assigned, None);
        let rules = peers.classes.each_ref().map(|classes| Arc::new(Rules::new(&ports.assigned, classes)));
        Self { zone, ports, peers, rules }
    }

    /// The rules, if they are those of these classes of peers.
    fn rules_for(&self, peers: &Peers) -> Option<[Arc<Rules>; 2]> {
        let is_same = self.peers.classes.iter().zip(&peers.classes).all(|(before, now)| before.numbers == now.numbers);
        is_same.then(|| self.rules.clone())
    }

    fn ports(&self) -> &Ports {
        &self.ports.ports
    }

    /// All flows.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        let closed = self.ports().closed.iter().map(|number| classify::closed(*number));
        let macs = self.ports().refused_macs.iter().map(|mac| classify::refused_mac(*mac));
        let of_ports = self.ports().isolated.values().flat_map(|port| self.of_port(port));
        let mut flows = self.fixed();
        flows.extend(closed.chain(macs).chain(of_ports));
        flows.extend(pods::flows(&self.peers.classes));
        flows.extend(self.rules.iter().flat_map(|rules| rules.flows()));
        flows
    }

    /// The flows that are not about a port, an address or a rule.
    pub(in crate::engine::ovs) fn fixed(&self) -> Vec<Flow> {
        let flood = Flood(self.ports());
        let mut flows = classify::fixed(&flood);
        flows.extend(destination::fixed(self.zone));
        flows.extend(connections::fixed(self.zone, pods::entry(&self.peers.classes)));
        flows.extend(pods::fixed(&self.peers.classes));
        flows.extend(flood.flows());
        flows.extend(Direction::ALL.map(rules::fixed));
        flows
    }

    fn of_port(&self, port: &Isolated) -> Vec<Flow> {
        let mut flows = classify::of_port(port);
        flows.extend(destination::of_port(port, self.zone));
        flows.extend(rules::of_port(port));
        flows
    }

    /// How many flows there are, besides those of addresses.
    pub(super) fn count(&self) -> usize {
        let Ports { isolated, closed, refused_macs } = self.ports();
        let of_ports: usize = isolated.values().map(flows_of_port).sum();
        let of_rules: usize = self.rules.iter().map(|rules| rules.count()).sum();
        self.fixed().len() + closed.len() + refused_macs.len() + of_ports + of_rules
    }

    /// Groups that the flows send to.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        Flood(self.ports()).groups()
    }

    /// Whether the groups are those of another state.
    pub(in crate::engine::ovs) fn has_groups_of(&self, other: &Self) -> bool {
        self.has_ports_of(other) || self.ports().isolated == other.ports().isolated
    }

    /// Whether the ports are known to be those of another state, without looking at them.
    pub(in crate::engine::ovs) fn has_ports_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ports.ports, &other.ports.ports)
    }

    /// The ports that frames are not flooded to.
    #[must_use]
    pub fn unflooded(&self) -> BTreeSet<PortNumber> {
        self.ports().unflooded()
    }

    pub(in crate::engine::ovs) fn is_unflooded(&self, number: PortNumber) -> bool {
        self.ports().is_unflooded(number)
    }

    /// The flows that differ from those of another state, and those of these ports.
    pub(in crate::engine::ovs) fn changed_since(&self, before: &Self, ports: &BTreeSet<PortNumber>) -> ChangedFlows {
        if self.zone != before.zone {
            return ChangedFlows { before: before.flows(), now: self.flows() };
        }
        ChangedFlows { before: before.flows_besides(self, ports), now: self.flows_besides(before, ports) }
    }

    fn flows_besides(&self, others: &Self, ports: &BTreeSet<PortNumber>) -> Vec<Flow> {
        let mut flows = self.fixed();
        flows.extend(self.flows_of_ports_besides(others, ports));
        flows.extend(pods::flows_besides(&self.peers.classes, &others.peers.classes));
        let rules = self.rules.iter().zip(&others.rules);
        flows.extend(rules.flat_map(|(rules, others)| rules.flows_besides(others)));
        flows
    }

    fn flows_of_ports_besides(&self, others: &Self, ports: &BTreeSet<PortNumber>) -> Vec<Flow> {
        if ports.is_empty() && self.has_ports_of(others) {
            return Vec::new();
        }
        let (Ports { isolated, closed, refused_macs }, others) = (self.ports(), others.ports());
        let differing: BTreeSet<PortNumber> = differing(isolated, &others.isolated).map(|(it, _)| *it).collect();
        let changed = differing.union(ports).filter_map(|number| isolated.get(number));
        let is_changed = |number: &&PortNumber| ports.contains(number) || !others.closed.contains(number);
        let closed = closed.iter().filter(is_changed).map(|number| classify::closed(*number));
        let macs = refused_macs.difference(&others.refused_macs).map(|mac| classify::refused_mac(*mac));
        changed.flat_map(|port| self.of_port(port)).chain(closed).chain(macs).collect()
    }
}

/// How many flows a port has.
fn flows_of_port(port: &Isolated) -> usize {
    let restricted = Direction::ALL.into_iter().filter(|direction| port.is_isolated_in(*direction)).count();
    let of_mac = if port.mac.is_some() { FLOWS_OF_MAC } else { 0 };
    1 + of_mac + restricted
}
