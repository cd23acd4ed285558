//! From what is to what should be: a list of operations, by comparing two values. No IO.
//!
//! A plan does not look at whether the engine runs what it was asked for ([`ElementState`](crate::observed::ElementState)): asking again
//! does not help there, and making a port anew would cut its traffic. That is for the one who reports.
//!
//! A port that is on no bridge and that its attachment needs is not removed: making it is what puts it back where it belongs.
//!
//! Observe first and read the journal afterwards, never the other way round: a record is written before its port is made, so that
//! each port that was seen has its record in a journal that was read later, unless its pod is gone.

mod obstacle;
mod operation;
mod removal;
#[cfg(test)]
mod tests;

use crate::attachment::AttachmentId;
use crate::desired::{Desired, DesiredAttachment, Presence};
use crate::observed::{BridgeMtu, Observed, ObservedBridge, ObservedPort, Tagging};
use crate::port::{PortMark, PortSettings};
pub use obstacle::{Obstacle, obstacles};
pub use operation::Op;
use removal::{Remaining, is_desired_bridge, removals};
use std::collections::BTreeSet;
use usnet_crds::{Bridge, NetworkName, NodeNetwork, Ownership};

/// What has to be done so that `observed` becomes `desired`: removals first, then bridges, then ports. Empty when nothing is missing.
pub fn plan(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let (mut operations, left) = removals(desired, observed);
    let mut additions = Additions { desired, left: &left, bridges: BTreeSet::new(), names: BTreeSet::new() };
    operations.extend(desired.networks.values().filter_map(|network| additions.bridge(network)));
    operations.extend(desired.attachments.iter().filter_map(|(id, attachment)| additions.port(id, attachment)));
    operations
}

/// Everything that a plan adds or changes, once its removals are done.
struct Additions<'a> {
    desired: &'a Desired,
    left: &'a Remaining<'a>,
    /// Bridges that the plan makes, and for whom.
    bridges: BTreeSet<(&'a str, &'a NetworkName)>,
    /// Names that the plan gives away.
    names: BTreeSet<&'a str>,
}

impl<'a> Additions<'a> {
    /// What somebody else made is left as it is.
    fn bridge(&mut self, wanted: &'a NodeNetwork) -> Option<Op> {
        if wanted.bridge.ownership == Ownership::Adopted {
            return None;
        }
        let (network, bridge) = (wanted.name.clone(), wanted.bridge.clone());
        let name = wanted.bridge.name.as_str();
        match self.left.bridges.get(name) {
            Some(shown) if shown.mark.as_ref() != Some(&network) => None,
            Some(shown) if !bridge_is_as_wanted(shown, &bridge) => Some(Op::UpdateBridge { network, bridge }),
            Some(_) => None,
            None if !self.take_name(name) => None,
            None => {
                self.bridges.insert((name, &wanted.name));
                Some(Op::CreateBridge { network, bridge })
            }
        }
    }

    fn port(&mut self, id: &AttachmentId, attachment: &'a DesiredAttachment) -> Option<Op> {
        let DesiredAttachment { network, port, presence } = attachment;
        if let Some(shown) = self.left.ports.get(&(port.bridge.as_str(), &port.name)) {
            let ours = shown.mark.as_ref().is_some_and(|mark| mark.is_of(network, id));
            let changed = !port_is_as_wanted(shown, &port.settings) || !shown.is_enabled;
            return (ours && changed).then(|| Op::UpdatePort {
                port: port.name.clone(),
                mark: PortMark::new(network, id),
                settings: port.settings.clone(),
            });
        }
        (*presence == Presence::Required && self.bridge_takes_ports(attachment) && self.take_name(port.name.as_str()))
            .then(|| Op::CreatePort { network: network.clone(), attachment: id.clone(), port: port.clone() })
    }

    /// Whether the attachment's bridge is its network's by the time that ports are made.
    fn bridge_takes_ports(&self, attachment: &DesiredAttachment) -> bool {
        let name = attachment.port.bridge.as_str();
        let shown = self.left.bridges.get(name).copied();
        if attachment.port.ownership == Ownership::Adopted {
            return unusable(shown, &attachment.network).is_none();
        }
        match shown {
            Some(shown) => {
                // A bridge that a network wants becomes of our kind again in this plan.
                let will_be_our_kind = shown.is_our_kind || is_desired_bridge(self.desired, name, &attachment.network);
                shown.mark.as_ref() == Some(&attachment.network) && will_be_our_kind
            }
            None => self.bridges.contains(&(name, &attachment.network)),
        }
    }

    /// Whether the name was free; then it is no longer.
    fn take_name(&mut self, name: &'a str) -> bool {
        !self.left.names.contains(name) && self.names.insert(name)
    }
}

/// Why a bridge that somebody else makes cannot take the ports of a network that adopts it; none when it can.
pub(crate) fn unusable(shown: Option<&ObservedBridge>, network: &NetworkName) -> Option<String> {
    let Some(shown) = shown else { return Some("it is not there".to_owned()) };
    match &shown.mark {
        Some(other) if other != network => Some(format!("it is ours and belongs to network {other}")),
        _ => shown.unusable.clone(),
    }
}

/// Whether nothing of a bridge has to be changed.
pub(crate) fn bridge_is_as_wanted(shown: &ObservedBridge, bridge: &Bridge) -> bool {
    let mtu = match shown.mtu {
        BridgeMtu::OfPortsOnly => true,
        BridgeMtu::Unset => false,
        BridgeMtu::Set(mtu) => mtu == i64::from(bridge.mtu),
    };
    let age = shown.mac_age_seconds == Some(bridge.mac_age_seconds.into());
    mtu && age && shown.mac_learning == bridge.mac_learning && shown.is_our_kind
}

/// Whether no setting of a port has to be changed.
pub(crate) fn port_is_as_wanted(shown: &ObservedPort, settings: &PortSettings) -> bool {
    shown.mtu == Some(settings.mtu.into())
        && shown.tagging == Tagging::from(settings.vlan.clone())
        && shown.rate_limit == Some(settings.rate_limit)
}
