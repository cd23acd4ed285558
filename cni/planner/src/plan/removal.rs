//! The deletions of a plan, and what remains after them.

use super::matching::{found, is_desired_bridge, is_port};
use super::operation::Op;
use crate::model::bridge::BridgeOwner;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::{Owner, PortOwner, UplinkNic};
use crate::model::port::{DesiredPort, PortBackend, PortName};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use usnet_crds::{NetworkName, UplinkName};

/// What is left when the removals of a plan are done.
pub(super) struct Remaining<'a> {
    pub(super) bridges: HashMap<&'a str, &'a ObservedBridge>,
    /// The ports by bridge and name.
    pub(super) ports: BTreeMap<(&'a str, &'a PortName), &'a ObservedPort>,
    /// NICs of uplinks that are on no bridge.
    pub(super) nics: BTreeMap<&'a UplinkName, &'a ObservedPort>,
    /// Names that are in use. Bridges and ports share them, because each bridge has a port of its
    /// own name.
    pub(super) names: HashSet<&'a str>,
}

/// The removals of ports, then those of bridges, which are empty by then, and what remains.
/// Sub-interfaces are removed before their NIC.
pub(super) fn removals<'a>(desired: &'a Desired, observed: &'a Observed) -> (Vec<Op>, Vec<Op>, Remaining<'a>) {
    let expected = Expected::new(desired, observed);
    let bridge_count = observed.bridges.len();
    let mut left = Remaining {
        bridges: HashMap::with_capacity(bridge_count),
        ports: BTreeMap::new(),
        nics: expected.nics.clone(),
        names: HashSet::with_capacity(bridge_count),
    };
    let (mut ports, mut bridges) = (Vec::new(), Vec::new());
    let unbridged = observed.unbridged_ports.iter();
    let unbridged = unbridged.filter_map(|(name, port)| Some((port, expected.removal_of_unbridged(name, port)?)));
    let (nics, others): (Vec<_>, Vec<_>) = unbridged.partition(|(port, _)| nic_of(port).is_some());
    ports.extend(others.into_iter().map(|(_, removal)| removal));
    for (bridge, actual) in &observed.bridges {
        let mut has_ports = false;
        for (name, port) in &actual.ports {
            match expected.removal((bridge, actual), name, port) {
                Some(removal) => ports.push(removal),
                None => {
                    has_ports = true;
                    left.ports.insert((bridge, name), port);
                    left.names.insert(name.as_str());
                }
            }
        }
        match &actual.owner {
            Some(owner) if !has_ports && !expected.needs_bridge(bridge, owner) => {
                bridges.push(Op::RemoveBridge { bridge: bridge.clone(), owner: owner.clone() });
            }
            _ => {
                left.bridges.insert(bridge, actual);
                left.names.insert(bridge);
            }
        }
    }
    ports.extend(nics.into_iter().map(|(_, removal)| removal));
    (ports, bridges, left)
}

fn nic_of(port: &ObservedPort) -> Option<&UplinkNic> {
    match &port.owner.as_ref()?.owner {
        Owner::Nic(nic) => Some(nic),
        _ => None,
    }
}

/// What is needed, indexed for lookup by observed objects.
struct Expected<'a> {
    /// The bridges of attachments, with the networks that must own them.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    desired: &'a Desired,
    observed: &'a Observed,
    on_two_bridges: BTreeSet<&'a PortName>,
    /// The NICs on no bridge that stay.
    nics: BTreeMap<&'a UplinkName, &'a ObservedPort>,
}

impl<'a> Expected<'a> {
    fn new(desired: &'a Desired, observed: &'a Observed) -> Self {
        let bridge =
            |(_, port): (_, &'a DesiredPort)| Some((port.bridge_name()?.as_str(), port.owner.network.as_ref()?));
        let nics = observed.unbridged_ports.iter().filter_map(|(name, port)| {
            let uplink = &nic_of(port)?.uplink;
            let desired = desired.port_for(name, port)?;
            (desired.bridge.is_none() && desired.name == *name && is_port(port, &desired)).then_some((uplink, port))
        });
        Self {
            bridges: desired.attachments().filter_map(bridge).collect(),
            desired,
            observed,
            on_two_bridges: on_two_bridges(observed),
            nics: nics.collect(),
        }
    }

    /// `None` if a port on a bridge is kept: it is desired there, or usnet does not own it.
    fn removal(&self, bridge: (&str, &ObservedBridge), name: &PortName, port: &ObservedPort) -> Option<Op> {
        let owner = port.owner.as_ref()?;
        let desired = self.desired.port_for(name, port);
        let stays = desired.is_some_and(|desired| self.is_in_place(&desired, bridge, name))
            && !self.on_two_bridges.contains(name);
        (!stays).then(|| remove(Some(bridge.0), name, port, owner.clone()))
    }

    /// Whether the port of this name on this bridge is one end of a desired port, all ends of which
    /// are where they should be: one port of a pair connects nothing.
    fn is_in_place(&self, desired: &DesiredPort, (bridge, actual): (&str, &ObservedBridge), name: &PortName) -> bool {
        let is_end = |end: &DesiredPort| {
            end.name == *name && end.bridge_name().is_some_and(|desired| desired.as_str() == bridge)
        };
        let is_complete = || match desired.owner.owner {
            Owner::Attachment(_) => {
                !self.is_replaced(bridge, actual, desired)
                    && actual.ports.get(name).is_some_and(|port| is_port(port, desired))
            }
            _ => {
                found(desired, self.observed).filter(|(end, port)| is_port(port, end)).count() == desired.ends().count()
            }
        };
        // A sub-interface goes with its NIC.
        let has_parent = desired.backend != PortBackend::SubInterface
            || desired.uplink.as_ref().is_some_and(|uplink| self.nics.contains_key(uplink));
        desired.ends().any(is_end) && is_complete() && has_parent
    }

    /// Whether another network owns the bridge of an attachment, so that it has to be recreated for
    /// its own.
    fn is_replaced(&self, bridge: &str, actual: &ObservedBridge, desired: &DesiredPort) -> bool {
        let network = desired.owner.network.as_ref();
        let is_of_another = actual.network().is_some_and(|owner| network != Some(owner));
        is_of_another && network.is_some_and(|network| is_desired_bridge(self.desired, bridge, network))
    }

    /// Whether a network, an attachment or an uplink needs a bridge that usnet owns.
    fn needs_bridge(&self, bridge: &str, owner: &BridgeOwner) -> bool {
        match owner {
            BridgeOwner::Network(network) => {
                self.bridges.contains(&(bridge, network)) || is_desired_bridge(self.desired, bridge, network)
            }
            BridgeOwner::Uplink(uplink) => {
                let desired = self.desired.uplinks.get(uplink).and_then(|uplink| uplink.bridge.as_ref());
                desired.is_some_and(|desired| desired.name.as_str() == bridge)
            }
        }
    }

    /// `None` if an unbridged port is kept: it can be moved to its attachment's bridge, or usnet
    /// does not own it.
    fn removal_of_unbridged(&self, name: &PortName, port: &ObservedPort) -> Option<Op> {
        let Some(owner) = &port.owner else {
            return self.owner_of_detached(port).map(|owner| remove(None, name, port, owner));
        };
        let stays = match nic_of(port) {
            Some(nic) => self.nics.get(&nic.uplink).is_some_and(|kept| std::ptr::eq(*kept, port)),
            None => {
                owner.attachment().is_some()
                    && self
                        .desired
                        .port_for(name, port)
                        .is_some_and(|desired| desired.name == *name && is_port(port, &desired))
            }
        };
        (!stays).then(|| remove(None, name, port, owner.clone()))
    }

    /// The owner of an untagged port of an interrupted ADD whose attachment is detached since. A
    /// newer sandbox of the same pod has the same socket; then the port may belong to that one.
    fn owner_of_detached(&self, port: &ObservedPort) -> Option<PortOwner> {
        let actual = port.backend.as_ref()?;
        if self.desired.attachments().any(|(_, attachment)| attachment.backend == *actual) {
            return None;
        }
        let (id, detached) = self.desired.detached.iter().find(|(_, detached)| detached.backend == *actual)?;
        Some(PortOwner::new(&detached.network, id))
    }
}

fn remove(bridge: Option<&str>, name: &PortName, port: &ObservedPort, owner: PortOwner) -> Op {
    let (bridge, backend) = (bridge.map(str::to_owned), port.backend.clone());
    Op::RemovePort { bridge, port: name.clone(), owner, backend, interface_index: None }
}

/// The database of Open vSwitch allows a port on two bridges. The switch uses one of them, and may
/// silently lose the port when it is removed from the other: only a recreated port is certain to
/// work.
fn on_two_bridges(observed: &Observed) -> BTreeSet<&PortName> {
    let mut seen = BTreeSet::new();
    observed.bridges.values().flat_map(|bridge| bridge.ports.keys()).filter(|name| !seen.insert(*name)).collect()
}

pub(super) fn foreign_ports(bridge: &ObservedBridge) -> impl Iterator<Item = &PortName> {
    bridge.ports.iter().filter(|(_, port)| port.owner.is_none()).map(|(name, _)| name)
}
