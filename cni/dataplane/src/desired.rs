//! What an engine of this node should have.

use crate::attachment::{AttachmentId, Progress, Record};
use crate::port::{AttachedPort, PortSettings};
use std::collections::BTreeMap;
use usnet_crds::{NetworkName, NodeNetwork, Vlan};

/// What one engine of this node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// The networks, each with its bridge.
    pub networks: BTreeMap<NetworkName, NodeNetwork>,
    /// The attachments that have, or may have, a port.
    pub attachments: BTreeMap<AttachmentId, DesiredAttachment>,
}

/// One attachment that has, or may have, a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredAttachment {
    /// The network that it joined.
    pub network: NetworkName,
    /// Its port.
    pub port: AttachedPort,
    /// Whether a missing port is made. The plugin makes the port of an attachment in progress; nobody else may be quicker.
    pub presence: Presence,
}

/// Whether a port must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Make it when it is missing.
    Required,
    /// Leave it when it is there, do not make it.
    Tolerated,
}

impl Desired {
    /// From the networks of a node and its journal. A port follows its network's present settings where they can change in place.
    pub fn new<'a>(
        networks: impl IntoIterator<Item = NodeNetwork>,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        let networks: BTreeMap<_, _> = networks.into_iter().map(|network| (network.name.clone(), network)).collect();
        let attachments = records
            .into_iter()
            .filter_map(|record| {
                let presence = match record.progress {
                    Progress::Attached => Presence::Required,
                    Progress::Attaching => Presence::Tolerated,
                    Progress::Detaching | Progress::Detached => return None,
                };
                let settings = networks.get(&record.network).map_or(record.port.settings, port_settings);
                let port = AttachedPort { settings, ..record.port.clone() };
                Some((record.id.clone(), DesiredAttachment { network: record.network.clone(), port, presence }))
            })
            .collect();
        Self { networks, attachments }
    }
}

/// The settings of each port of a network.
pub fn port_settings(network: &NodeNetwork) -> PortSettings {
    let vlan = network.port.vlan.map(|Vlan::Access { tag }| tag);
    PortSettings { mtu: network.bridge.mtu, vlan }
}
