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
use super::matching::{adoption_blocker, bridge_matches_spec, port_matches_spec};
use super::operation::Op;
use super::removal::{Remaining, is_desired_bridge, removals};
use super::routing::{self, RoutingChanges};
use super::underlay::has_address;
use super::uplink::{nic_port, uplink_bridge_matches};
use super::uplink_operation::UplinkOp;
use crate::model::attachment::AttachmentId;
use crate::model::desired::{Desired, DesiredAttachment, DesiredPatch};
use crate::model::observed::Observed;
use crate::model::owner::PortOwner;
use crate::model::port::NetworkPort;
use crate::model::port::PortPolicy;
use crate::model::underlay::{DesiredTunnels, Tunnel};
use crate::model::uplink::{DesiredUplink, PatchPair, UplinkBridge};
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{NetworkName, NodeNetwork, Ownership, UplinkName};

/// An operation, and why it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedOp {
    /// The operation.
    pub op: Op,
    /// Why it is planned.
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

/// The operations that turn `observed` into `desired`: deletions first, then bridges with their
/// gateways, then ports, and routing tables that nothing uses any more. Empty if there is no
/// difference.
pub fn diff(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let (mut operations, removed_bridges, remaining) = removals(desired, observed);
    let mut additions = Additions::new(desired, observed, &remaining);
    let bridges: Vec<Op> = desired.networks.values().filter_map(|network| additions.bridge(network)).collect();
    let RoutingChanges { removals, additions: gateways, leftovers } = additions.routing(observed);
    operations.extend(removals);
    operations.extend(removed_bridges);
    operations.extend(bridges);
    operations.extend(gateways);
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.uplink_bridge(uplink)));
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.nic(uplink)));
    operations.extend(desired.uplinks.values().filter_map(|uplink| additions.address(uplink)));
    operations.extend(desired.patches.values().filter_map(|patch| additions.patch(patch)));
    operations.extend(desired.network_ports.values().filter_map(|port| additions.network_port(port)));
    for tunnels in desired.tunnels.values() {
        operations.extend(additions.tunnels(tunnels));
    }
    operations.extend(desired.attachments.iter().filter_map(|(id, attachment)| additions.port(id, attachment)));
    operations.extend(leftovers);
    operations
}

/// Everything that a plan adds or changes, once its removals are done.
struct Additions<'a> {
    desired: &'a Desired,
    observed: &'a Observed,
    remaining: &'a Remaining<'a>,
    /// The bridges that the plan creates, with their networks.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    /// The bridges that it creates for uplinks.
    uplink_bridges: BTreeSet<(&'a str, &'a UplinkName)>,
    /// The uplinks whose NIC it joins.
    nics: BTreeSet<&'a UplinkName>,
    /// Names that the plan assigns.
    names: BTreeSet<&'a str>,
}

impl<'a> Additions<'a> {
    fn new(desired: &'a Desired, observed: &'a Observed, remaining: &'a Remaining<'a>) -> Self {
        let (bridges, uplink_bridges) = (BTreeSet::new(), BTreeSet::new());
        Self { desired, observed, remaining, bridges, uplink_bridges, nics: BTreeSet::new(), names: BTreeSet::new() }
    }

    /// An adopted bridge is not changed.
    fn bridge(&mut self, spec: &'a NodeNetwork) -> Option<Op> {
        if spec.bridge.ownership == Ownership::Adopted {
            return None;
        }
        let (network, bridge) = (spec.name.clone(), spec.bridge.clone());
        let name = spec.bridge.name.as_str();
        match self.remaining.bridges.get(name) {
            Some(actual) if actual.owner.as_ref() != Some(&network) => None,
            Some(actual) if !bridge_matches_spec(actual, &bridge) => Some(Op::UpdateBridge { network, bridge }),
            Some(_) => None,
            None if !self.reserve_name(name) => None,
            None => {
                self.bridges.insert((name, &spec.name));
                Some(Op::CreateBridge { network, bridge })
            }
        }
    }

    fn port(&mut self, id: &AttachmentId, attachment: &'a DesiredAttachment) -> Option<Op> {
        let DesiredAttachment { network, port, policy } = attachment;
        if let Some(actual) = self.remaining.ports.get(&(port.bridge.as_str(), &port.name)) {
            let is_owned = actual.owner.as_ref().is_some_and(|owner| owner.matches(network, id));
            let changed = !port_matches_spec(actual, &port.settings) || !actual.is_enabled;
            return (is_owned && changed).then(|| Op::UpdatePort {
                port: port.name.clone(),
                owner: PortOwner::new(network, id),
                settings: port.settings.clone(),
            });
        }
        (*policy == PortPolicy::Ensure
            && self.bridge_accepts_ports(port.bridge.as_str(), network, port.ownership)
            && self.reserve_name(port.name.as_str()))
        .then(|| Op::CreatePort { network: network.clone(), attachment: id.clone(), port: port.clone() })
    }

    fn routing(&self, observed: &Observed) -> RoutingChanges {
        let keeps = |bridge: &str, network: &NetworkName| {
            self.remaining.bridges.get(bridge).is_some_and(|actual| actual.owner.as_ref() == Some(network))
        };
        routing::changes(self.desired, observed, keeps, |gateway| {
            self.bridge_accepts_ports(gateway.bridge.as_str(), &gateway.network, Ownership::Managed)
        })
    }

    /// One that differs is among the removals.
    fn network_port(&mut self, port: &'a NetworkPort) -> Option<Op> {
        let bridge = port.bridge.as_str();
        let is_needed = !self.remaining.ports.contains_key(&(bridge, &port.name))
            && self.bridge_accepts_ports(bridge, &port.device.network, port.ownership)
            && self.reserve_name(port.name.as_str());
        is_needed.then(|| Op::JoinDevice { port: port.clone() })
    }

    /// Without a NIC to join, a bridge is not created.
    fn uplink_bridge(&mut self, spec: &'a DesiredUplink) -> Option<Op> {
        let UplinkBridge { name, .. } = spec.bridge.as_ref()?;
        let (uplink, bridge, name) = (spec.name.clone(), name.clone(), name.as_str());
        match self.remaining.bridges.get(name) {
            Some(actual) if actual.uplink.as_ref() != Some(&uplink) || uplink_bridge_matches(actual) => None,
            Some(_) => Some(Op::Uplink(UplinkOp::RestoreBridge { uplink, bridge })),
            None if spec.nic.is_none() || !self.reserve_name(name) => None,
            None => {
                self.uplink_bridges.insert((name, &spec.name));
                Some(Op::Uplink(UplinkOp::CreateBridge { uplink, bridge }))
            }
        }
    }

    /// A NIC that differs is among the removals.
    fn nic(&mut self, spec: &'a DesiredUplink) -> Option<Op> {
        match &spec.bridge {
            Some(bridge) => self.nic_on_bridge(spec, bridge),
            None => self.nic_on_no_bridge(spec),
        }
    }

    fn nic_on_bridge(&mut self, spec: &'a DesiredUplink, bridge: &UplinkBridge) -> Option<Op> {
        let (uplink, name, vlans) = (spec.name.clone(), bridge.name.as_str(), bridge.vlans.clone());
        let ports = self.remaining.ports.iter().filter(|((on, _), _)| *on == name);
        if let Some((port, actual, index)) = nic_port(spec, ports.map(|((_, name), port)| (*name, *port))) {
            let port = port.clone();
            let differs = actual.tagging != vlans.tagging();
            return differs.then_some(Op::Uplink(UplinkOp::SetVlans { uplink, index, port, vlans }));
        }
        let nic = spec.nic.as_ref()?;
        let is_possible = self.uplink_accepts_ports(name, &spec.name) && self.reserve_name(nic.device.as_str());
        is_possible.then(|| Op::Uplink(UplinkOp::JoinNic { uplink, nic: nic.clone(), bridge: Some(bridge.clone()) }))
    }

    /// One that others have set down is joined again.
    fn nic_on_no_bridge(&mut self, spec: &'a DesiredUplink) -> Option<Op> {
        let nic = spec.nic.as_ref()?;
        let is_possible = match self.remaining.nics.get(&spec.name) {
            Some(joined) => !joined.is_enabled,
            None => !self.observed.taken_devices.contains_key(&nic.device),
        };
        is_possible.then(|| {
            self.nics.insert(&spec.name);
            Op::Uplink(UplinkOp::JoinNic { uplink: spec.name.clone(), nic: nic.clone(), bridge: None })
        })
    }

    /// The address goes with the uplink's NIC.
    fn address(&self, spec: &DesiredUplink) -> Option<Op> {
        let (uplink, bridge) = (spec.name.clone(), spec.bridge.as_ref().map(|bridge| bridge.name.clone()));
        let address = spec.address.clone();
        // Without a bridge it goes with the interface of the NIC.
        let is_lost = spec.bridge.is_none() && address.is_some() && self.nics.contains(&spec.name);
        (self.has_uplink(spec) && (is_lost || !has_address(spec, self.observed)))
            .then_some(Op::Uplink(UplinkOp::SetAddress { uplink, bridge, address }))
    }

    /// Those that differ are among the removals. They need the address of this node.
    fn tunnels(&mut self, tunnels: &DesiredTunnels) -> Vec<Op> {
        let bridge = tunnels.bridge.as_str();
        let uplink = self.desired.uplinks.get(&tunnels.uplink).filter(|uplink| uplink.address.is_some());
        let is_possible = tunnels.policy == PortPolicy::Ensure
            && uplink.is_some_and(|uplink| self.has_uplink(uplink))
            && self.bridge_accepts_ports(bridge, &tunnels.network, Ownership::Managed);
        if !is_possible {
            return Vec::new();
        }
        // Their names follow from the network and the peer, and none is given twice.
        let is_free = |tunnel: &Tunnel| !self.remaining.names.contains(tunnel.name.as_str());
        let missing = tunnels.iter().filter(is_free);
        missing.map(|tunnel| Op::Uplink(UplinkOp::CreateTunnel { tunnel })).collect()
    }

    /// What differs is among the removals, both ports of a pair.
    fn patch(&mut self, DesiredPatch { pair, policy }: &'a DesiredPatch) -> Option<Op> {
        let PatchPair { network, bridge, ownership, .. } = pair;
        let mut names = pair.ports().map(|(port, _)| port.name.as_str());
        let is_possible = *policy == PortPolicy::Ensure
            && self.bridge_accepts_ports(bridge.as_str(), network, *ownership)
            && self.uplink_accepts(pair)
            && (self.is_disabled(pair) || names.all(|name| self.reserve_name(name)));
        is_possible.then(|| Op::Uplink(UplinkOp::Connect { pair: pair.clone() }))
    }

    /// Whether others have disabled the port of a network, which is in place.
    fn is_disabled(&self, pair: &PatchPair) -> bool {
        let port = self.remaining.ports.get(&(pair.bridge.as_str(), &pair.network_end));
        port.is_some_and(|port| port.owner.as_ref() == Some(&pair.owner()) && !port.is_enabled)
    }

    /// Whether networks can be connected to the uplink of a pair by then.
    fn uplink_accepts(&self, pair: &PatchPair) -> bool {
        match &pair.uplink_end {
            Some(end) => self.uplink_accepts_ports(end.bridge.as_str(), &pair.uplink),
            None => self.remaining.nics.contains_key(&pair.uplink) || self.nics.contains(&pair.uplink),
        }
    }

    /// Whether the bridge of an uplink, or its NIC where there is none, will be there.
    fn has_uplink(&self, uplink: &DesiredUplink) -> bool {
        match &uplink.bridge {
            Some(bridge) => self.uplink_accepts_ports(bridge.name.as_str(), &uplink.name),
            None => self.remaining.nics.contains_key(&uplink.name) || self.nics.contains(&uplink.name),
        }
    }

    /// Whether the bridge will be owned by the uplink when the ports are created.
    fn uplink_accepts_ports(&self, name: &str, uplink: &UplinkName) -> bool {
        match self.remaining.bridges.get(name) {
            Some(actual) => actual.uplink.as_ref() == Some(uplink),
            None => self.uplink_bridges.contains(&(name, uplink)),
        }
    }

    /// Whether the bridge will be owned by the network when the ports are created.
    fn bridge_accepts_ports(&self, name: &str, network: &NetworkName, ownership: Ownership) -> bool {
        let actual = self.remaining.bridges.get(name).copied();
        if ownership == Ownership::Adopted {
            return adoption_blocker(actual, network).is_none();
        }
        match actual {
            Some(actual) => {
                // This plan restores the datapath of a bridge that a network needs.
                let will_be_our_kind = actual.has_supported_datapath || is_desired_bridge(self.desired, name, network);
                actual.owner.as_ref() == Some(network) && will_be_our_kind
            }
            None => self.bridges.contains(&(name, network)),
        }
    }

    /// Whether the name was free; then it is no longer.
    fn reserve_name(&mut self, name: &'a str) -> bool {
        !self.remaining.names.contains(name) && self.names.insert(name)
    }
}
