//! Ports of pods on a bridge with policies.

use super::BridgePolicies;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::names::fnv1a;
use usnet_crds::policy::Direction;
use usnet_crds::policy::verdict::is_isolated;
use usnet_crds::{MacAddress, NamespaceName};
use usnet_openflow::PortNumber;
use usnet_openflow::flow::Masked;

/// The port of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPort {
    /// The MAC address of the pod's interface.
    pub mac: MacAddress,
    /// The MAC addresses by which it may send besides.
    pub virtual_macs: BTreeSet<MacAddress>,
    pub state: PolicyPortState,
}

/// Whether the policies of a port are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyPortState {
    /// Those of pods of this namespace.
    OfNamespace(NamespaceName),
    /// It gets and sends nothing.
    Closed,
}

/// A port that policies restrict.
#[derive(Debug)]
pub(super) struct Isolated {
    pub(super) number: PortNumber,
    /// The MAC address by which frames are for this port; `None` if there is no such one.
    pub(super) mac: Option<MacAddress>,
    class: u16,
}

/// Isolated ports that have the same rules: those of a namespace. It is never 0, which is the class
/// of other ports.
#[derive(Debug)]
pub(super) struct Class<'a> {
    pub(super) namespace: &'a str,
    pub(super) number: u16,
    directions: [bool; 2],
}

/// The ports of pods, as flows need them.
#[derive(Debug)]
pub(super) struct Subjects<'a> {
    pub(super) isolated: Vec<Isolated>,
    pub(super) classes: Vec<Class<'a>>,
    pub(super) closed: Vec<PortNumber>,
    /// Frames to these are dropped.
    pub(super) refused_macs: BTreeSet<MacAddress>,
}

impl Class<'_> {
    const fn is_isolated(&self, direction: Direction) -> bool {
        let [ingress, egress] = self.directions;
        match direction {
            Direction::Ingress => ingress,
            Direction::Egress => egress,
        }
    }
}

/// A match on the register of a port of the class with this number.
pub(super) fn of_class(number: u16) -> Masked<u32> {
    Masked::new(u32::from(number) << 16, 0xffff_0000)
}

impl Isolated {
    /// The value of the register of the port.
    pub(super) fn register(&self) -> u32 {
        u32::from(self.class) << 16 | u32::from(self.number.number())
    }
}

impl<'a> Subjects<'a> {
    pub(super) fn of(bridge: &BridgePolicies<'a>) -> Self {
        let classes = classes(bridge);
        let class_of: BTreeMap<&str, u16> = classes.iter().map(|class| (class.namespace, class.number)).collect();
        let mut subjects = Self { isolated: Vec::new(), classes, closed: Vec::new(), refused_macs: BTreeSet::new() };
        let mut holders: BTreeMap<MacAddress, usize> = BTreeMap::new();
        for port in bridge.ports.values() {
            for mac in port.virtual_macs.iter().chain([&port.mac]) {
                *holders.entry(*mac).or_default() += 1;
            }
        }
        for (number, port) in bridge.ports {
            let namespace = match &port.state {
                PolicyPortState::OfNamespace(namespace) => namespace.as_str(),
                PolicyPortState::Closed => {
                    subjects.closed.push(*number);
                    subjects.refused_macs.extend(port.virtual_macs.iter().chain([&port.mac]));
                    continue;
                }
            };
            let Some(class) = class_of.get(namespace).copied() else { continue };
            subjects.refused_macs.extend(&port.virtual_macs);
            let is_only = holders.get(&port.mac) == Some(&1);
            if !is_only {
                subjects.refused_macs.insert(port.mac);
            }
            let mac = Some(port.mac).filter(|_| is_only);
            subjects.isolated.push(Isolated { number: *number, mac, class });
        }
        subjects
    }

    /// The isolated ports that have a MAC address of their own, with it.
    pub(super) fn with_mac(&self) -> impl Iterator<Item = (&Isolated, [u8; 6])> {
        self.isolated.iter().filter_map(|port| Some((port, port.mac?.octets())))
    }

    /// The isolated ports whose connections are restricted in a direction.
    pub(super) fn isolated_in(&self, direction: Direction) -> impl Iterator<Item = &Isolated> {
        let isolated = self.classes.iter().filter(move |class| class.is_isolated(direction));
        let numbers: BTreeSet<u16> = isolated.map(|class| class.number).collect();
        self.isolated.iter().filter(move |port| numbers.contains(&port.class))
    }

    pub(super) fn unflooded(&self) -> BTreeSet<PortNumber> {
        self.isolated.iter().map(|port| port.number).chain(self.closed.iter().copied()).collect()
    }
}

/// The namespaces with isolated ports. Their numbers follow from the names, so that another
/// namespace changes none of them, unless the numbers are the same.
fn classes<'a>(bridge: &BridgePolicies<'a>) -> Vec<Class<'a>> {
    let namespace = |port: &'a PolicyPort| match &port.state {
        PolicyPortState::OfNamespace(namespace) => Some(namespace.as_str()),
        PolicyPortState::Closed => None,
    };
    let namespaces: BTreeSet<&str> = bridge.ports.values().filter_map(namespace).collect();
    let mut numbers = BTreeSet::from([0]);
    let class = |namespace| {
        let isolated = |direction| is_isolated(bridge.policies, namespace, direction);
        let directions = [isolated(Direction::Ingress), isolated(Direction::Egress)];
        if directions == [false, false] {
            return None;
        }
        let [.., high, low] = fnv1a(namespace.as_bytes()).to_be_bytes();
        let mut number = u16::from_be_bytes([high, low]);
        while !numbers.insert(number) {
            number = number.wrapping_add(1);
        }
        Some(Class { namespace, number, directions })
    };
    namespaces.into_iter().filter_map(class).collect()
}
