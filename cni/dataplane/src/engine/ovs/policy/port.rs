//! Ports of pods on a bridge with policies.

use super::BridgePolicies;
use super::by_namespace::PoliciesByNamespace;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::names::fnv1a;
use usnet_crds::policy::pods::{PodClass, SelectorId};
use usnet_crds::policy::verdict::is_isolated;
use usnet_crds::policy::{Direction, Policy};
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
    /// Those of pods of this class, of which is known whether each policy is for them.
    OfClass(Arc<PodClass>),
    /// It gets and sends nothing.
    Closed,
}

impl PolicyPortState {
    /// The port of a pod of which no selector is known.
    #[must_use]
    pub fn of_namespace(namespace: NamespaceName) -> Self {
        Self::OfClass(Arc::new(PodClass::of_namespace(namespace)))
    }
}

/// A port that policies restrict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isolated {
    pub(super) number: PortNumber,
    /// The MAC address by which frames are for this port; `None` if there is no such one.
    pub(super) mac: Option<MacAddress>,
    class: u16,
    directions: [bool; 2],
}

/// The ports of pods, as flows need them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ports {
    pub(super) isolated: BTreeMap<PortNumber, Isolated>,
    pub(super) closed: BTreeSet<PortNumber>,
    /// Frames to these are dropped.
    pub(super) refused_macs: BTreeSet<MacAddress>,
}

/// Isolated ports that have the same rules: those of pods that the same policies are for. It is
/// never 0, which is the class of other ports.
#[derive(Debug, Clone, Copy)]
struct Class<'a> {
    /// The class of one of the pods. Those of others differ in selectors that no policy of the
    /// namespace has.
    pods: &'a PodClass,
    number: u16,
    directions: [bool; 2],
}

/// The ports of pods, and the classes of those that are isolated.
#[derive(Debug)]
pub(super) struct Subjects<'a> {
    pub(super) ports: Ports,
    classes: BTreeMap<Key<'a>, Class<'a>>,
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

    /// The MAC address of its own, if it has one, as frames have it.
    pub(super) fn own_mac(&self) -> Option<[u8; 6]> {
        self.mac.map(MacAddress::octets)
    }

    /// Whether its connections are restricted in a direction.
    pub(super) const fn is_isolated_in(&self, direction: Direction) -> bool {
        let [ingress, egress] = self.directions;
        match direction {
            Direction::Ingress => ingress,
            Direction::Egress => egress,
        }
    }
}

impl Ports {
    /// The ports to which nothing is flooded.
    pub(super) fn unflooded(&self) -> BTreeSet<PortNumber> {
        self.isolated.keys().chain(&self.closed).copied().collect()
    }

    pub(super) fn is_unflooded(&self, number: PortNumber) -> bool {
        self.isolated.contains_key(&number) || self.closed.contains(&number)
    }
}

/// What of a class of pods decides which policies are for them: the namespace, and the selectors of
/// its policies that select them.
type Key<'a> = (&'a str, BTreeSet<SelectorId>);

impl<'a> Subjects<'a> {
    pub(super) fn of(bridge: &BridgePolicies<'a>) -> Self {
        let policies = PoliciesByNamespace::of(bridge.policies);
        let keys = keys(bridge, &policies);
        let classes = classes(&policies, &keys);
        let mut ports = Ports::default();
        let mut holders: BTreeMap<MacAddress, usize> = BTreeMap::new();
        for port in bridge.ports.values() {
            for mac in port.virtual_macs.iter().chain([&port.mac]) {
                *holders.entry(*mac).or_default() += 1;
            }
        }
        for (number, port) in bridge.ports.iter() {
            let pods = match &port.state {
                PolicyPortState::OfClass(pods) => pods,
                PolicyPortState::Closed => {
                    ports.closed.insert(*number);
                    ports.refused_macs.extend(port.virtual_macs.iter().chain([&port.mac]));
                    continue;
                }
            };
            let class = keys.get(pods.as_ref()).and_then(|key| classes.get(key));
            let Some(Class { number: class, directions, .. }) = class.copied() else { continue };
            ports.refused_macs.extend(&port.virtual_macs);
            let is_only = holders.get(&port.mac) == Some(&1);
            if !is_only {
                ports.refused_macs.insert(port.mac);
            }
            let mac = Some(port.mac).filter(|_| is_only);
            ports.isolated.insert(*number, Isolated { number: *number, mac, class, directions });
        }
        Self { ports, classes }
    }

    /// The numbers of the classes that a policy is for.
    pub(super) fn of_policy(&self, policy: &Policy) -> Vec<u16> {
        let of_namespace = self.classes.range((policy.namespace.as_str(), BTreeSet::new())..);
        let of_namespace = of_namespace.take_while(|((namespace, _), _)| *namespace == policy.namespace.as_str());
        let is_for = |class: &&Class<'_>| policy.pods.is_none_or(|pods| class.pods.selected_by.contains(&pods));
        of_namespace.map(|(_, class)| class).filter(is_for).map(|class| class.number).collect()
    }
}

/// The keys of the classes of all ports. A namespace without policies has none.
fn keys<'a>(bridge: &BridgePolicies<'a>, policies: &PoliciesByNamespace<'_>) -> BTreeMap<&'a PodClass, Key<'a>> {
    let mut selectors: BTreeMap<&str, Option<BTreeSet<SelectorId>>> = BTreeMap::new();
    let mut keys: BTreeMap<&PodClass, Key<'a>> = BTreeMap::new();
    for port in bridge.ports.values() {
        let PolicyPortState::OfClass(class) = &port.state else { continue };
        if keys.contains_key(class.as_ref()) {
            continue;
        }
        let namespace = class.namespace.as_str();
        let used = selectors.entry(namespace).or_insert_with(|| policies.selectors(namespace));
        if let Some(used) = used {
            let selected_by = class.selected_by.intersection(used).copied().collect();
            keys.insert(class, (namespace, selected_by));
        }
    }
    keys
}

/// The classes with isolated ports. Their numbers follow from what they are, so that another class
/// changes none of them, unless the numbers are the same.
fn classes<'a>(
    policies: &PoliciesByNamespace<'_>,
    keys: &BTreeMap<&'a PodClass, Key<'a>>,
) -> BTreeMap<Key<'a>, Class<'a>> {
    let of_key: BTreeMap<&Key<'a>, &'a PodClass> = keys.iter().map(|(pods, key)| (key, *pods)).collect();
    let mut numbers = BTreeSet::from([0]);
    let class = |(key, pods): (&Key<'a>, &'a PodClass)| {
        let (namespace, selected_by) = key;
        let isolated = |direction| is_isolated(policies.of_namespace(namespace), pods, direction);
        let directions = [isolated(Direction::Ingress), isolated(Direction::Egress)];
        if directions == [false, false] {
            return None;
        }
        let text: String = selected_by.iter().map(SelectorId::to_string).collect();
        let [.., high, low] = fnv1a(format!("{namespace}{text}").as_bytes()).to_be_bytes();
        let mut number = u16::from_be_bytes([high, low]);
        while !numbers.insert(number) {
            number = number.wrapping_add(1);
        }
        Some((key.clone(), Class { pods, number, directions }))
    };
    of_key.into_iter().filter_map(class).collect()
}
