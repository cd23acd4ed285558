//! Diff of observed and desired state: a list of operations. No IO.
//!
//! A plan ignores whether the engine runs what was configured
//! ([`ElementState`](crate::observed::ElementState)): configuring it again does not help, and
//! recreating a port would cut its traffic. That is reported instead.
//!
//! A port that is on no bridge and that its attachment needs is not deleted: creating it moves it
//! to its bridge.
//!
//! Observe first and read the journal afterwards, never the reverse: a record is written before its
//! port is created, so that each observed port has its record in a journal that was read later,
//! unless its pod is deleted.

mod blocker;
mod operation;
mod removal;
#[cfg(test)]
mod tests;

use crate::attachment::AttachmentId;
use crate::desired::{Desired, DesiredAttachment, PortPolicy};
use crate::observed::{BridgeMtu, Observed, ObservedBridge, ObservedPort, Tagging};
use crate::port::{PortOwner, PortSettings};
pub use blocker::{Blocker, blockers};
pub use operation::Op;
use removal::{Remaining, is_desired_bridge, removals};
use std::collections::BTreeSet;
use usnet_crds::{Bridge, NetworkName, NodeNetwork, Ownership};

/// The operations that turn `observed` into `desired`: deletions first, then bridges, then ports.
/// Empty if there is no difference.
pub fn plan(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let (mut operations, remaining) = removals(desired, observed);
    let mut additions = Additions { desired, remaining: &remaining, bridges: BTreeSet::new(), names: BTreeSet::new() };
    operations.extend(desired.networks.values().filter_map(|network| additions.bridge(network)));
    operations.extend(desired.attachments.iter().filter_map(|(id, attachment)| additions.port(id, attachment)));
    operations
}

/// Everything that a plan adds or changes, once its removals are done.
struct Additions<'a> {
    desired: &'a Desired,
    remaining: &'a Remaining<'a>,
    /// The bridges that the plan creates, with their networks.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    /// Names that the plan gives away.
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
            && self.bridge_accepts_ports(attachment)
            && self.reserve_name(port.name.as_str()))
        .then(|| Op::CreatePort { network: network.clone(), attachment: id.clone(), port: port.clone() })
    }

    /// Whether the attachment's bridge will be owned by its network when the ports are created.
    fn bridge_accepts_ports(&self, attachment: &DesiredAttachment) -> bool {
        let name = attachment.port.bridge.as_str();
        let actual = self.remaining.bridges.get(name).copied();
        if attachment.port.ownership == Ownership::Adopted {
            return adoption_blocker(actual, &attachment.network).is_none();
        }
        match actual {
            Some(actual) => {
                // This plan restores the datapath of a bridge that a network needs.
                let will_be_our_kind =
                    actual.has_supported_datapath || is_desired_bridge(self.desired, name, &attachment.network);
                actual.owner.as_ref() == Some(&attachment.network) && will_be_our_kind
            }
            None => self.bridges.contains(&(name, &attachment.network)),
        }
    }

    /// Whether the name was free; then it is no longer.
    fn reserve_name(&mut self, name: &'a str) -> bool {
        !self.remaining.names.contains(name) && self.names.insert(name)
    }
}

/// Why a network cannot adopt a bridge; `None` if it can.
pub(crate) fn adoption_blocker(actual: Option<&ObservedBridge>, network: &NetworkName) -> Option<String> {
    let Some(actual) = actual else { return Some("it is not there".to_owned()) };
    match &actual.owner {
        Some(other) if other != network => Some(format!("it is ours and belongs to network {other}")),
        _ => actual.adoption_blocker.clone(),
    }
}

/// Whether a bridge needs no update.
pub(crate) fn bridge_matches_spec(actual: &ObservedBridge, bridge: &Bridge) -> bool {
    let mtu = match actual.mtu {
        BridgeMtu::OfPortsOnly => true,
        BridgeMtu::Unset => false,
        BridgeMtu::Set(mtu) => mtu == i64::from(bridge.mtu),
    };
    let age = actual.mac_age_seconds == Some(bridge.mac_age_seconds.into());
    mtu && age && actual.mac_learning == bridge.mac_learning && actual.has_supported_datapath
}

/// Whether a port needs no update.
pub(crate) fn port_matches_spec(actual: &ObservedPort, settings: &PortSettings) -> bool {
    actual.mtu == Some(settings.mtu.into())
        && actual.tagging == Tagging::from(settings.vlan.clone())
        && actual.rate_limit == Some(settings.rate_limit)
}
