//! Bridges that forward nothing but what their ports are allowed to send, as the database has them,
//! and the flows of their ports. Pure.

use super::bridge_settings::is_guarded;
use super::guard::{self, AntiSpoofing, GuardedPort};
use super::snapshot::OvsSnapshot;
use super::tags;
use crate::model::attachment::AttachmentId;
use crate::model::owner::Owner;
use crate::model::policy_zone::PolicyZone;
use crate::model::port::{Guard, GuardedAddresses};
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_openflow::PortNumber;
use usnet_openflow::flow::{Action, Flow};
use usnet_ovsdb::{Bridge, Port};

/// The ports of a guarded bridge, by their numbers. Ports of others have no entry.
pub type GuardedPorts = BTreeMap<PortNumber, FrameSource>;

/// A bridge that forwards nothing but what its ports are allowed to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedBridge {
    pub network: NetworkName,
    pub policies: PolicyTag,
    pub ports: GuardedPorts,
}

/// Whether policies are enforced on a bridge, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyTag {
    None,
    /// With connections in this zone.
    Zone(PolicyZone),
    /// The text is no zone: others changed it.
    Invalid,
}

/// What sends by a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameSource {
    /// The network on other nodes, or this node: anything.
    Network,
    /// A pod: what its guard allows.
    Pod {
        guard: Guard,
        /// Whether its frames may have a VLAN tag.
        is_trunk: bool,
        /// Whether the bridge puts its frames into a VLAN.
        is_in_vlan: bool,
        attachment: AttachmentId,
    },
}

impl FrameSource {
    /// The flows of the port with this number, with what becomes of the frames that are allowed.
    pub(super) fn flows(&self, number: PortNumber, allowed: &Action) -> Vec<Flow> {
        let Self::Pod { guard: Guard { mac, addresses, pairs }, is_trunk, .. } = self else {
            return guard::trusted_with(number, allowed);
        };
        let (anti_spoofing, addresses, uses_dhcp) = match addresses {
            GuardedAddresses::Any => (AntiSpoofing::Mac, Vec::new(), false),
            GuardedAddresses::Only { addresses, dhcp } => {
                (AntiSpoofing::Address, addresses.iter().copied().collect(), *dhcp)
            }
        };
        let (mac, is_trunk, pairs) = (*mac, *is_trunk, pairs.iter().copied().collect());
        let port = GuardedPort { number, anti_spoofing, mac, addresses, pairs, is_trunk, uses_dhcp };
        guard::flows_with(&port, allowed)
    }
}

/// The guarded bridges that run, with their ports.
pub(super) fn guarded_bridges(snapshot: &OvsSnapshot) -> BTreeMap<String, GuardedBridge> {
    let is_running = |bridge: &&Bridge| is_guarded(bridge) && bridge.datapath_id.is_some();
    let bridges = snapshot.bridges.values().filter(is_running);
    let guarded = |bridge: &Bridge| {
        let network = tags::network(&bridge.external_ids)?;
        let ports = ports(snapshot, bridge);
        Some((bridge.name.clone(), GuardedBridge { network, policies: policy_tag(bridge), ports }))
    };
    bridges.filter_map(guarded).collect()
}

pub(super) fn policy_tag(bridge: &Bridge) -> PolicyTag {
    match (tags::has_policies(&bridge.external_ids), tags::policy_zone(&bridge.external_ids)) {
        (false, _) => PolicyTag::None,
        (true, Some(zone)) => PolicyTag::Zone(zone),
        (true, None) => PolicyTag::Invalid,
    }
}

/// With the bridge's own port, which is a device of the node.
fn ports(snapshot: &OvsSnapshot, bridge: &Bridge) -> GuardedPorts {
    let others = snapshot.ports_of(bridge).filter_map(|row| port(snapshot, row));
    others.chain([(PortNumber::LOCAL, FrameSource::Network)]).collect()
}

/// A port of a pod without a guard sends nothing, and neither does a port of others.
fn port(snapshot: &OvsSnapshot, port: &Port) -> Option<(PortNumber, FrameSource)> {
    let owner = tags::port(&port.external_ids)?.owner;
    let number = snapshot.interface_of(port)?.ofport.and_then(|number| u16::try_from(number).ok())?;
    let number = PortNumber::new(number).filter(|number| *number != PortNumber::LOCAL)?;
    let source = match owner {
        Owner::Attachment(attachment) => FrameSource::Pod {
            guard: tags::guard(&port.external_ids)?,
            is_trunk: !port.trunks.is_empty(),
            is_in_vlan: port.tag.is_some(),
            attachment,
        },
        Owner::Nic(_) | Owner::Patch(_) | Owner::Network(_) | Owner::Tunnel(_) => FrameSource::Network,
    };
    Some((number, source))
}

/// The names of the ports of pods on guarded bridges, by their numbers.
pub(super) fn names(snapshot: &OvsSnapshot) -> BTreeMap<String, BTreeMap<PortNumber, String>> {
    let is_running = |bridge: &&Bridge| is_guarded(bridge) && bridge.datapath_id.is_some();
    let of_bridge = |bridge: &Bridge| {
        let named = |row: &Port| Some((port(snapshot, row)?.0, row.name.clone()));
        (bridge.name.clone(), snapshot.ports_of(bridge).filter_map(named).collect())
    };
    snapshot.bridges.values().filter(is_running).map(of_bridge).collect()
}

/// The guarded bridge of a port, its number and what sends by it; `None` if there is nothing to
/// open.
pub(super) fn port_named<'a>(snapshot: &'a OvsSnapshot, name: &str) -> Option<(&'a Bridge, PortNumber, FrameSource)> {
    let row = snapshot.port(name)?;
    let bridge = snapshot.bridges.values().find(|bridge| bridge.ports.contains(&row.uuid) && is_guarded(bridge))?;
    let (number, source) = port(snapshot, row)?;
    Some((bridge, number, source))
}
