//! Ports of pods on a bridge with policies.

use super::BridgePolicies;
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
#[derive(Debug)]
pub(super) struct Isolated {
    pub(super) number: PortNumber,
    /// The MAC address by which frames are for this port; `None` if there is no such one.
    pub(super) mac: Option<MacAddress>,
    class: u16,
}

/// Isolated ports that have the same rules: those of pods that the same policies are for. It is
/// never 0, which is the class of other ports.
#[derive(Debug)]
pub(super) struct Class<'a> {
    /// The class of one of the pods. Those of others differ in selectors that no policy of the
    /// namespace has.
    pods: &'a PodClass,
    pub(super) number: u16,
    directions: [bool; 2],
}

/// The ports of pods, as flows need them.
#[derive(Debug)]
pub(super) struct Subjects<'a> {
    pub(super) isolated: Vec<Isolated>,
    classes: BTreeMap<Key<'a>, Class<'a>>,
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

/// What of a class of pods decides which policies are for them: the namespace, and the selectors of
/// its policies that select them.
type Key<'a> = (&'a str, BTreeSet<SelectorId>);

impl<'a> Subjects<'a> {
    pub(super) fn of(bridge: &BridgePolicies<'a>) -> Self {
        let selectors = selectors(bridge.policies);
        let keys = keys(bridge, &selectors);
        let classes = classes(bridge, &keys);
        let mut subjects = Self { isolated: Vec::new(), classes, closed: Vec::new(), refused_macs: BTreeSet::new() };
        let mut holders: BTreeMap<MacAddress, usize> = BTreeMap::new();
        for port in bridge.ports.values() {
            for mac in port.virtual_macs.iter().chain([&port.mac]) {
                *holders.entry(*mac).or_default() += 1;
            }
        }
        for (number, port) in bridge.ports {
            let pods = match &port.state {
                PolicyPortState::OfClass(pods) => pods,
                PolicyPortState::Closed => {
                    subjects.closed.push(*number);
                    subjects.refused_macs.extend(port.virtual_macs.iter().chain([&port.mac]));
                    continue;
                }
            };
            let class = keys.get(pods.as_ref()).and_then(|key| subjects.classes.get(key));
            let Some(class) = class.map(|class| class.number) else { continue };
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

    /// The classes that a policy is for.
    pub(super) fn of_policy(&self, policy: &'a Policy) -> impl Iterator<Item = &Class<'a>> {
        let of_namespace = self.classes.range((policy.namespace.as_str(), BTreeSet::new())..);
        let of_namespace = of_namespace.take_while(|((namespace, _), _)| *namespace == policy.namespace.as_str());
        let is_for = |class: &&Class<'_>| policy.pods.is_none_or(|pods| class.pods.selected_by.contains(&pods));
        of_namespace.map(|(_, class)| class).filter(is_for)
    }

    /// The isolated ports that have a MAC address of their own, with it.
    pub(super) fn with_mac(&self) -> impl Iterator<Item = (&Isolated, [u8; 6])> {
        self.isolated.iter().filter_map(|port| Some((port, port.mac?.octets())))
    }

    /// The isolated ports whose connections are restricted in a direction.
    pub(super) fn isolated_in(&self, direction: Direction) -> impl Iterator<Item = &Isolated> {
        let isolated = self.classes.values().filter(move |class| class.is_isolated(direction));
        let numbers: BTreeSet<u16> = isolated.map(|class| class.number).collect();
        self.isolated.iter().filter(move |port| numbers.contains(&port.class))
    }

    pub(super) fn unflooded(&self) -> BTreeSet<PortNumber> {
        self.isolated.iter().map(|port| port.number).chain(self.closed.iter().copied()).collect()
    }
}

/// The selectors of the policies of each namespace.
fn selectors(policies: &[Policy]) -> BTreeMap<&str, BTreeSet<SelectorId>> {
    let mut selectors: BTreeMap<&str, BTreeSet<SelectorId>> = BTreeMap::new();
    for policy in policies {
        selectors.entry(policy.namespace.as_str()).or_default().extend(policy.pods);
    }
    selectors
}

/// The keys of the classes of all ports. A namespace without policies has none.
fn keys<'a>(
    bridge: &BridgePolicies<'a>,
    selectors: &BTreeMap<&str, BTreeSet<SelectorId>>,
) -> BTreeMap<&'a PodClass, Key<'a>> {
    let of_port = |port: &'a PolicyPort| match &port.state {
        PolicyPortState::OfClass(class) => Some(class.as_ref()),
        PolicyPortState::Closed => None,
    };
    let all: BTreeSet<&PodClass> = bridge.ports.values().filter_map(of_port).collect();
    let key = |class: &'a PodClass| {
        let used = selectors.get(class.namespace.as_str())?;
        Some((class, (class.namespace.as_str(), class.selected_by.intersection(used).copied().collect())))
    };
    all.into_iter().filter_map(key).collect()
}

/// The classes with isolated ports. Their numbers follow from what they are, so that another class
/// changes none of them, unless the numbers are the same.
fn classes<'a>(bridge: &BridgePolicies<'a>, keys: &BTreeMap<&'a PodClass, Key<'a>>) -> BTreeMap<Key<'a>, Class<'a>> {
    let of_key: BTreeMap<&Key<'a>, &'a PodClass> = keys.iter().map(|(pods, key)| (key, *pods)).collect();
    let mut numbers = BTreeSet::from([0]);
    let class = |(key, pods): (&Key<'a>, &'a PodClass)| {
        let isolated = |direction| is_isolated(bridge.policies, pods, direction);
        let directions = [isolated(Direction::Ingress), isolated(Direction::Egress)];
        if directions == [false, false] {
            return None;
        }
        let (namespace, selected_by) = key;
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
