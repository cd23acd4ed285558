//! The operations that turn the observed into the desired state.
//!
//! A plan ignores whether the engine runs what was configured
//! ([`ElementState`](crate::model::observed::ElementState)): configuring it again does not help,
//! and recreating a port would cut its traffic. That is reported instead.
//!
//! A port that is on no bridge and that its attachment needs is not deleted: creating it moves it
//! to its bridge.
//!
//! Observe first and read the journal afterwards, never the reverse: a record is written before its
//! port is created, so that each observed port has its record in a journal that was read later,
//! unless its pod is deleted.

use super::cause::{Cause, PlanContext};
use super::matching::{adoption_blocker, bridge_matches, has_address, is_desired_bridge};
use super::operation::Op;
use super::removal::{Remaining, removals};
use super::routing::{self, RoutingChanges};
use super::take_over::{take_overs, untagged};
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::Owner;
use crate::model::policy_zone::PolicyZones;
use crate::model::port::{DesiredPort, PortBridge, PortName, PortPolicy};
use crate::model::uplink::DesiredUplink;
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{NetworkName, NodeNetwork, Ownership, UplinkName};

/// An operation, and why it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedOp {
    pub op: Op,
    pub cause: Cause,
}

impl fmt::Display for PlannedOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.op, self.cause)
    }
}

/// The operations of [`diff`], each with its cause.
pub fn plan(desired: &Desired, observed: &Observed, context: &PlanContext) -> Vec<PlannedOp> {
    let planned = |op| PlannedOp { cause: context.cause_of(&op, desired), op };
    diff(desired, observed).into_iter().map(planned).collect()
}

/// The operations that turn `observed` into `desired`: deletions first, then tags for what the
/// legacy plugin created, then bridges with their gateways, then ports, and routing tables that
/// nothing uses any more. Empty if there is no difference.
///
/// The ports of NICs come first, and then the addresses on them, which tunnels need. The ports of
/// pods come last, when their networks are complete.
pub fn diff(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let (mut operations, removed_bridges, remaining) = removals(desired, observed);
    let mut additions = Additions::new(desired, observed, &remaining);
    let bridges: Vec<Op> = desired.networks.values().filter_map(|network| additions.network_bridge(network)).collect();
    let RoutingChanges { removals, additions: gateways, leftovers } = additions.routing(observed);
    operations.extend(removals);
    operations.extend(removed_bridges);
    operations.extend(take_overs(desired, observed));
    operations.extend(bridges);
    operations.extend(gateways);
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.uplink_bridge(uplink)));
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.nic(uplink)));
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.address(uplink)));
    let (of_pods, of_networks): (Vec<_>, Vec<_>) =
        desired.ports.values().partition(|port| port.owner.attachment().is_some());
    operations.extend(of_networks.into_iter().filter_map(|port| additions.port(port)));
    for tunnels in desired.tunnels.values().filter(|tunnels| tunnels.policy == PortPolicy::Ensure) {
        operations.extend(tunnels.ports().filter_map(|port| additions.port(&port)));
    }
    let untagged = untagged(desired, observed);
    let is_missing = |port: &&DesiredPort| port.owner.attachment().is_none_or(|id| !untagged.contains(id));
    operations.extend(of_pods.into_iter().filter(is_missing).filter_map(|port| additions.port(port)));
    operations.extend(leftovers);
    operations
}

/// Everything that a plan adds or changes, once its removals are done.
struct Additions<'a> {
    desired: &'a Desired,
    observed: &'a Observed,
    remaining: &'a Remaining<'a>,
    /// The bridges that the plan creates, by name.
    bridges: BTreeSet<(&'a str, BridgeOwner)>,
    /// The uplinks whose NIC it joins where no bridge has it.
    nics: BTreeSet<UplinkName>,
    /// Names that the plan assigns.
    names: BTreeSet<String>,
    zones: PolicyZones,
}

impl<'a> Additions<'a> {
    fn new(desired: &'a Desired, observed: &'a Observed, remaining: &'a Remaining<'a>) -> Self {
        let (bridges, nics, names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let zone = |(name, bridge): (&'a String, &ObservedBridge)| Some((name.as_str(), bridge.settings.policy_zone?));
        let zones = PolicyZones::of(observed.bridges.iter().filter_map(zone));
        Self { desired, observed, remaining, bridges, nics, names, zones }
    }

    /// An adopted bridge is not changed.
    fn network_bridge(&mut self, spec: &'a NodeNetwork) -> Option<Op> {
        let (network, bridge) = (spec.name.clone(), spec.bridge.clone());
        if spec.bridge.ownership == Ownership::Adopted {
            return None;
        }
        let policy_zone = spec.policies.are_enabled().then(|| self.zones.assign(bridge.name.as_str()));
        self.bridge(spec.bridge.name.as_str(), DesiredBridge::Network { network, bridge, policy_zone })
    }

    /// Without a NIC to join, a bridge is not created.
    fn uplink_bridge(&mut self, spec: &'a DesiredUplink) -> Option<Op> {
        let name = &spec.bridge.as_ref()?.name;
        let is_needed = spec.nic.is_some() || self.remaining.bridges.contains_key(name.as_str());
        let bridge = DesiredBridge::Uplink { uplink: spec.name.clone(), name: name.clone() };
        is_needed.then(|| self.bridge(name.as_str(), bridge))?
    }

    fn bridge(&mut self, name: &'a str, bridge: DesiredBridge) -> Option<Op> {
        let owner = bridge.owner();
        match self.remaining.bridges.get(name) {
            Some(actual) if actual.owner.as_ref() != Some(&owner) || bridge_matches(actual, &bridge) => None,
            Some(_) => Some(Op::UpdateBridge { bridge }),
            None if !self.reserve_names([name]) => None,
            None => {
                self.bridges.insert((name, owner));
                Some(Op::CreateBridge { bridge })
            }
        }
    }

    fn routing(&self, observed: &Observed) -> RoutingChanges {
        let keeps = |bridge: &str, network: &NetworkName| {
            self.remaining.bridges.get(bridge).is_some_and(|actual| actual.network() == Some(network))
        };
        routing::changes(self.desired, observed, keeps, |gateway| {
            let owner = BridgeOwner::Network(gateway.network.clone());
            let bridge = PortBridge { name: gateway.bridge.clone(), owner, ownership: Ownership::Managed };
            self.accepts_ports(&bridge)
        })
    }

    /// The NIC that is to be joined, or the settings of the one that is.
    fn nic(&mut self, spec: &DesiredUplink) -> Option<Op> {
        let is_taken = |port: &DesiredPort| {
            let device = port.backend.device().filter(|_| port.bridge.is_none());
            device.is_some_and(|device| self.observed.taken_devices.contains_key(device))
        };
        let joined = self.joined_nic(spec);
        let port = match joined {
            Some(joined) => spec.port_or_joined(joined)?,
            None => spec.port().filter(|port| !is_taken(port))?,
        };
        let operation = self.place(&port, joined.map(|(_, port)| port))?;
        if port.bridge.is_none() {
            self.nics.insert(spec.name.clone());
        }
        Some(operation)
    }

    /// The port of the NIC that an uplink has.
    fn joined_nic(&self, spec: &DesiredUplink) -> Option<(&'a PortName, &'a ObservedPort)> {
        let is_its = |port: &ObservedPort| port.owner.as_ref().is_some_and(|owner| spec.has(owner));
        match &spec.bridge {
            Some(bridge) => {
                let mut ports = self.remaining.ports.iter().filter(|((on, _), _)| *on == bridge.name.as_str());
                ports.find(|(_, port)| is_its(port)).map(|((_, name), port)| (*name, *port))
            }
            None => {
                let joined = *self.remaining.nics.get(&spec.name)?;
                let mut all = self.observed.unbridged_ports.iter();
                all.find(|(_, port)| std::ptr::eq(*port, joined))
            }
        }
    }

    /// The address goes with the uplink's NIC.
    fn address(&self, spec: &DesiredUplink) -> Option<Op> {
        let (uplink, bridge) = (spec.name.clone(), spec.bridge.as_ref().map(|bridge| bridge.name.clone()));
        let address = spec.address.clone();
        // Without a bridge it goes with the interface of the NIC.
        let is_lost = spec.bridge.is_none() && address.is_some() && self.nics.contains(&spec.name);
        (self.has_uplink(spec) && (is_lost || !has_address(spec, self.observed))).then_some(Op::SetAddress {
            uplink,
            bridge,
            address,
        })
    }

    /// What has to be recreated is among the removals.
    fn port(&mut self, port: &DesiredPort) -> Option<Op> {
        let bridge = port.bridge_name()?;
        let actual = self.remaining.ports.get(&(bridge.as_str(), &port.name)).copied();
        self.place(port, actual)
    }

    /// What a port needs that is there, or is to be there.
    fn place(&mut self, port: &DesiredPort, actual: Option<&ObservedPort>) -> Option<Op> {
        let create = |port: &DesiredPort| Op::CreatePort { port: Box::new(port.clone()) };
        if let Some(actual) = actual {
            let is_owned = actual.owner.as_ref().is_some_and(|owner| port.owner.covers(owner));
            let is_enabled = actual.settings.is_enabled;
            let is_as_desired = is_enabled && actual.settings.match_desired(&port.settings);
            return match (is_owned && !is_as_desired, port.bridge.is_some() && port.is_changed_in_place()) {
                (false, _) => None,
                (true, true) => Some(Op::UpdatePort { port: Box::new(port.clone()) }),
                // Creating a port again enables it.
                (true, false) => (port.policy == PortPolicy::Ensure && self.can_be_placed(port)).then(|| create(port)),
            };
        }
        (port.policy == PortPolicy::Ensure
            && self.can_be_placed(port)
            && self.reserve_names(port.ends().filter(|end| end.bridge.is_some()).map(|end| end.name.as_str())))
        .then(|| create(port))
    }

    /// Whether the bridges of a port, and the uplink that it depends on, will be there.
    fn can_be_placed(&self, port: &DesiredPort) -> bool {
        port.ends().filter_map(|end| end.bridge.as_ref()).all(|bridge| self.accepts_ports(bridge))
            && port.uplink.as_ref().is_none_or(|uplink| {
                self.desired.uplinks.get(uplink).is_some_and(|uplink| {
                    let has_address = uplink.address.is_some() || !matches!(port.owner.owner, Owner::Tunnel(_));
                    has_address && self.has_uplink(uplink)
                })
            })
    }

    /// Whether the bridge of an uplink, or its NIC where there is none, will be there.
    fn has_uplink(&self, uplink: &DesiredUplink) -> bool {
        match &uplink.bridge {
            Some(_) => self.accepts_ports(&PortBridge::of_uplink(&uplink.name)),
            None => self.remaining.nics.contains_key(&uplink.name) || self.nics.contains(&uplink.name),
        }
    }

    /// Whether a bridge will have the owner that it must have when the ports are created.
    fn accepts_ports(&self, bridge: &PortBridge) -> bool {
        let name = bridge.name.as_str();
        let actual = self.remaining.bridges.get(name).copied();
        match (&bridge.owner, bridge.ownership, actual) {
            (BridgeOwner::Network(network), Ownership::Adopted, _) => adoption_blocker(actual, network).is_none(),
            (BridgeOwner::Network(network), Ownership::Managed, Some(actual)) => {
                // This plan restores the datapath of a bridge that a network needs.
                let will_be_our_kind = actual.has_supported_datapath || is_desired_bridge(self.desired, name, network);
                actual.network() == Some(network) && will_be_our_kind
            }
            (BridgeOwner::Uplink(_), _, Some(actual)) => actual.owner.as_ref() == Some(&bridge.owner),
            (_, _, None) => self.bridges.contains(&(name, bridge.owner.clone())),
        }
    }

    /// Whether all of these names were free; then they are no longer.
    fn reserve_names<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> bool {
        names.into_iter().all(|name| !self.remaining.names.contains(name) && self.names.insert(name.to_owned()))
    }
}
