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
use crate::model::attachment::AttachmentId;
use crate::model::desired::{Desired, DesiredAttachment, PortPolicy};
use crate::model::observed::Observed;
use crate::model::owner::PortOwner;
use crate::model::port::NetworkPort;
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{NetworkName, NodeNetwork, Ownership};

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

/// The operations that turn `observed` into `desired`: deletions first, then bridges, then ports.
/// Empty if there is no difference.
pub fn diff(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let (mut operations, remaining) = removals(desired, observed);
    let mut additions = Additions { desired, remaining: &remaining, bridges: BTreeSet::new(), names: BTreeSet::new() };
    operations.extend(desired.networks.values().filter_map(|network| additions.bridge(network)));
    operations.extend(desired.network_ports.values().filter_map(|port| additions.network_port(port)));
    operations.extend(desired.attachments.iter().filter_map(|(id, attachment)| additions.port(id, attachment)));
    operations
}

/// Everything that a plan adds or changes, once its removals are done.
struct Additions<'a> {
    desired: &'a Desired,
    remaining: &'a Remaining<'a>,
    /// The bridges that the plan creates, with their networks.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    /// Names that the plan assigns.
    names: BTreeSet<&'a str>,
}

impl<'a> Additions<'a> {
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

    /// One that differs is among the removals.
    fn network_port(&mut self, port: &'a NetworkPort) -> Option<Op> {
        let bridge = port.bridge.as_str();
        let is_needed = !self.remaining.ports.contains_key(&(bridge, &port.name))
            && self.bridge_accepts_ports(bridge, &port.device.network, port.ownership)
            && self.reserve_name(port.name.as_str());
        is_needed.then(|| Op::JoinDevice { port: port.clone() })
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
