//! The deletions of a plan, and what remains after them.

use super::matching::network_port_matches;
use super::operation::Op;
use super::underlay::tunnel_stays;
use super::uplink::{nic_stays, patch_stays, unbridged_nic_stays};
use super::uplink_operation::UplinkOp;
use crate::model::desired::{Desired, DesiredAttachment};
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::{Owner, PortOwner, UplinkNic};
use crate::model::port::{NetworkPort, PortName};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use usnet_crds::{NetworkName, Ownership, UplinkName};

/// What is left when the removals of a plan are done.
pub(super) struct Remaining<'a> {
    /// By name.
    pub(super) bridges: HashMap<&'a str, &'a ObservedBridge>,
    /// By bridge and name.
    pub(super) ports: BTreeMap<(&'a str, &'a PortName), &'a ObservedPort>,
    /// NICs of uplinks that are on no bridge.
    pub(super) nics: BTreeMap<&'a UplinkName, &'a ObservedPort>,
    /// Names that are in use. Bridges and ports share them, because each bridge has a port of its
    /// own name.
    pub(super) names: HashSet<&'a str>,
}

/// Those of ports and of bridges. Ports are deleted before, so that bridges are empty;
/// sub-interfaces before their NIC.
pub(super) fn removals<'a>(desired: &'a Desired, observed: &'a Observed) -> (Vec<Op>, Vec<Op>, Remaining<'a>) {
    let expected = Expected::new(desired, observed);
    let nics = expected.nics.clone();
    let bridge_count = observed.bridges.len();
    let mut left = Remaining {
        bridges: HashMap::with_capacity(bridge_count),
        ports: BTreeMap::new(),
        nics,
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
            // A bridge that usnet owns is deleted if no network and no attachment needs it and no
            // foreign port is on it.
            Some(network)
                if !has_ports
                    && !expected.bridges.contains(&(bridge.as_str(), network))
                    && !is_desired_bridge(desired, bridge, network) =>
            {
                bridges.push(Op::RemoveBridge { bridge: bridge.clone(), network: network.clone() });
            }
            _ if !has_ports && expected.is_unused_uplink(bridge, actual) => {
                let uplink = actual.uplink.iter().cloned();
                bridges
                    .extend(uplink.map(|uplink| Op::Uplink(UplinkOp::RemoveBridge { uplink, bridge: bridge.clone() })));
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
        Owner::Attachment(_) | Owner::Network(_) | Owner::Patch(_) | Owner::Tunnel(_) => None,
    }
}

/// What the attachments need, indexed for lookup by observed objects.
struct Expected<'a> {
    /// The bridges that they are on, with the owners that those must have.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    desired: &'a Desired,
    observed: &'a Observed,
    on_two_bridges: BTreeSet<&'a PortName>,
    /// The NICs on no bridge that stay.
    nics: BTreeMap<&'a UplinkName, &'a ObservedPort>,
}

impl<'a> Expected<'a> {
    fn new(desired: &'a Desired, observed: &'a Observed) -> Self {
        let bridge = |attachment: &'a DesiredAttachment| (attachment.port.bridge.as_str(), &attachment.network);
        let nics = observed.unbridged_ports.iter().filter_map(|(name, port)| {
            let nic = nic_of(port).filter(|nic| unbridged_nic_stays(desired, (name, port), nic))?;
            Some((&nic.uplink, port))
        });
        Self {
            bridges: desired.attachments.values().map(bridge).collect(),
            desired,
            observed,
            on_two_bridges: on_two_bridges(observed),
            nics: nics.collect(),
        }
    }

    /// The attachment that has, or may have, a port of this owner.
    fn attachment_of(&self, owner: &PortOwner) -> Option<&DesiredAttachment> {
        self.desired.attachments.get(owner.attachment()?)
    }

    /// `None` if a port on a bridge is kept: it is desired there, or usnet does not own it. It is
    /// not kept on a bridge that another network owns and that has to be recreated for its own.
    fn removal(&self, (bridge, actual): (&str, &ObservedBridge), name: &PortName, port: &ObservedPort) -> Option<Op> {
        let owner = port.owner.as_ref()?;
        let is_in_place = match &owner.owner {
            Owner::Attachment(_) => self.is_in_place((bridge, actual), name, (port, owner)),
            Owner::Network(device) => self.desired.network_ports.get(&device.network).is_some_and(|desired| {
                let is_its_bridge = desired.bridge.as_str() == bridge && owns(desired, actual);
                is_its_bridge && desired.name == *name && network_port_matches(port, desired)
            }),
            Owner::Nic(nic) => nic_stays(self.desired, (bridge, actual), (name, port), nic),
            Owner::Tunnel(tunnel) => tunnel_stays(self.desired, (bridge, actual), (name, port), tunnel),
            Owner::Patch(patch) => {
                let has_nic = self.nics.contains_key(&patch.uplink);
                patch_stays(self.desired, self.observed, (bridge, name), patch, has_nic)
            }
        };
        let stays = is_in_place && !self.on_two_bridges.contains(name);
        (!stays).then(|| remove(Some(bridge), name, port, owner.clone()))
    }

    /// Whether the port of an attachment is where it should be.
    fn is_in_place(
        &self,
        (bridge, actual): (&str, &ObservedBridge),
        name: &PortName,
        (port, owner): (&ObservedPort, &PortOwner),
    ) -> bool {
        let is_its_bridge = |attachment: &&DesiredAttachment| {
            let is_of_another = actual.owner.as_ref().is_some_and(|network| *network != attachment.network);
            let is_replaced = is_of_another && is_desired_bridge(self.desired, bridge, &attachment.network);
            attachment.port.bridge.as_str() == bridge && !is_replaced
        };
        let attachment = self.attachment_of(owner).filter(is_its_bridge);
        attachment.is_some_and(|attachment| is_port_of(attachment, name, port))
    }

    /// Whether a bridge is of an uplink that no network needs.
    fn is_unused_uplink(&self, bridge: &str, actual: &ObservedBridge) -> bool {
        actual.uplink.as_ref().is_some_and(|uplink| {
            let desired = self.desired.uplinks.get(uplink).and_then(|uplink| uplink.bridge.as_ref());
            desired.is_none_or(|desired| desired.name.as_str() != bridge)
        })
    }

    /// `None` if an unbridged port is kept: it can be moved to its attachment's bridge, or usnet
    /// does not own it.
    fn removal_of_unbridged(&self, name: &PortName, port: &ObservedPort) -> Option<Op> {
        let Some(owner) = &port.owner else {
            return self.owner_of_detached(port).map(|owner| remove(None, name, port, owner));
        };
        let stays = match nic_of(port) {
            Some(nic) => self.nics.get(&nic.uplink).is_some_and(|kept| std::ptr::eq(*kept, port)),
            None => self.attachment_of(owner).is_some_and(|attachment| is_port_of(attachment, name, port)),
        };
        (!stays).then(|| remove(None, name, port, owner.clone()))
    }

    /// The owner of an untagged port of an interrupted ADD whose attachment is detached since. A
    /// newer sandbox of the same pod has the same socket; then the port may belong to that one.
    fn owner_of_detached(&self, port: &ObservedPort) -> Option<PortOwner> {
        let actual = port.backend.as_ref()?;
        if self.desired.attachments.values().any(|attachment| attachment.port.backend == *actual) {
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

/// Whether a network's own port may be on this bridge.
fn owns(port: &NetworkPort, bridge: &ObservedBridge) -> bool {
    match port.ownership {
        Ownership::Managed => bridge.owner.as_ref() == Some(&port.device.network),
        Ownership::Adopted => true,
    }
}

/// Whether a port with an attachment's tag can be used by its pod. One with another socket cannot,
/// and is recreated.
fn is_port_of(attachment: &DesiredAttachment, name: &PortName, port: &ObservedPort) -> bool {
    port.owner.as_ref().is_some_and(|owner| owner.network.as_ref().is_none_or(|known| *known == attachment.network))
        && attachment.port.name == *name
        && port.backend.as_ref() == Some(&attachment.port.backend)
}

pub(super) fn is_desired_bridge(desired: &Desired, bridge: &str, network: &NetworkName) -> bool {
    desired.networks.get(network).is_some_and(|spec| spec.bridge.name.as_str() == bridge)
}

pub(super) fn foreign_ports(bridge: &ObservedBridge) -> impl Iterator<Item = &PortName> {
    bridge.ports.iter().filter(|(_, port)| port.owner.is_none()).map(|(name, _)| name)
}
