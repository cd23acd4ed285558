//! What an engine of this node should have.

use crate::model::attachment::{AttachmentId, Progress, Record};
use crate::model::port::{AttachedPort, NetworkPort, PortBackend, PortPolicy, PortSettings};
use crate::model::underlay::DesiredTunnels;
use crate::model::uplink::{DesiredUplink, PatchPair};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork, RateLimit, UplinkName};

/// What one engine of this node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// The networks, each with its bridge.
    pub networks: BTreeMap<NetworkName, Arc<NodeNetwork>>,
    /// The attachments that have, or may have, a port.
    pub attachments: BTreeMap<AttachmentId, DesiredAttachment>,
    /// The networks' own ports, for those whose device exists.
    pub network_ports: BTreeMap<NetworkName, NetworkPort>,
    /// The uplinks that networks are connected to.
    pub uplinks: BTreeMap<UplinkName, DesiredUplink>,
    /// How networks are connected to them.
    pub patches: BTreeMap<NetworkName, DesiredPatch>,
    /// The tunnels of networks whose engine encapsulates.
    pub tunnels: BTreeMap<NetworkName, DesiredTunnels>,
    /// The networks whose gateways are down for a while.
    pub held_gateways: BTreeSet<NetworkName>,
    /// The attachments that must not have a port any more. A port that was not tagged yet is
    /// identified by its socket alone.
    pub detached: BTreeMap<AttachmentId, TornDownAttachment>,
}

/// An attachment whose DEL has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornDownAttachment {
    /// The network that it had joined.
    pub network: NetworkName,
    /// How its port met its pod.
    pub backend: PortBackend,
}

/// One attachment that has, or may have, a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredAttachment {
    /// The network that it joined.
    pub network: NetworkName,
    /// Its port.
    pub port: AttachedPort,
    /// Whether a missing port is created. While ADD is in progress only the plugin may create it.
    pub policy: PortPolicy,
}

/// A network that is, or may be, connected to an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredPatch {
    /// Its ports.
    pub pair: PatchPair,
    /// Whether missing ports are created. What hinders a network later does not disconnect it.
    pub policy: PortPolicy,
}

impl Desired {
    /// Builds the desired state from the networks of a node and its journal. Settings that can
    /// change in place follow the present settings of the network.
    pub fn new<'a>(
        networks: impl IntoIterator<Item = NodeNetwork>,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        Self::of_shared(networks.into_iter().map(Arc::new), records)
    }

    /// The same with networks that others have as well: a node may have thousands.
    pub fn of_shared<'a>(
        networks: impl IntoIterator<Item = Arc<NodeNetwork>>,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        let networks = networks.into_iter().map(|network| (network.name.clone(), network)).collect();
        let mut desired = Self { networks, ..Self::default() };
        records.into_iter().for_each(|record| desired.ingest(record));
        desired
    }

    /// With the ports of networks whose devices have these indexes.
    #[must_use]
    pub fn with_devices(mut self, devices: &BTreeMap<NetworkName, u32>) -> Self {
        let port = |(name, index): (&NetworkName, &u32)| {
            Some((name.clone(), NetworkPort::new(self.networks.get(name)?, *index)))
        };
        self.network_ports = devices.iter().filter_map(port).collect();
        self
    }

    /// With these uplinks and connections. Networks that this node has not are left out.
    #[must_use]
    pub fn with_uplinks(
        mut self,
        uplinks: impl IntoIterator<Item = DesiredUplink>,
        patches: impl IntoIterator<Item = DesiredPatch>,
    ) -> Self {
        self.uplinks = uplinks.into_iter().map(|uplink| (uplink.name.clone(), uplink)).collect();
        let patches = patches.into_iter().map(|patch| (patch.pair.network.clone(), patch));
        self.patches = patches.filter(|(network, _)| self.networks.contains_key(network)).collect();
        self
    }

    /// With the gateways of these networks down.
    #[must_use]
    pub fn with_held_gateways(mut self, networks: BTreeSet<NetworkName>) -> Self {
        self.held_gateways = networks;
        self
    }

    /// With these tunnels. Those of networks that this node has not are left out.
    #[must_use]
    pub fn with_tunnels(mut self, tunnels: impl IntoIterator<Item = DesiredTunnels>) -> Self {
        let tunnels = tunnels.into_iter().map(|tunnels| (tunnels.network.clone(), tunnels));
        self.tunnels = tunnels.filter(|(network, _)| self.networks.contains_key(network)).collect();
        self
    }

    fn ingest(&mut self, record: &Record) {
        let network = record.network.clone();
        let policy = match record.progress {
            Progress::Attached => PortPolicy::Ensure,
            Progress::Attaching => PortPolicy::Keep,
            Progress::Detaching | Progress::Detached => {
                let backend = record.port.backend.clone();
                self.detached.insert(record.id.clone(), TornDownAttachment { network, backend });
                return;
            }
        };
        let present = self.networks.get(&network);
        let settings = present.map(|present| {
            port_settings(present, &record.pod.namespace, &record.pod.name, record.requested_rate_limit)
        });
        // What was assigned to the pod stays, whatever the network says now.
        let settings =
            settings.map(|settings| PortSettings { routed: record.port.settings.routed.clone(), ..settings });
        let settings = settings.unwrap_or_else(|| record.port.settings.clone());
        let present = present.map(|present| &present.bridge).filter(|bridge| bridge.name == record.port.bridge);
        let ownership = present.map_or(record.port.ownership, |bridge| bridge.ownership);
        let port = AttachedPort { settings, ownership, ..record.port.clone() };
        self.attachments.insert(record.id.clone(), DesiredAttachment { network, port, policy });
    }
}

/// The settings of a pod's port on a network: those fixed for the pod's name, otherwise the
/// network's. The pod itself can request a lower rate than the network's, not a higher one.
pub fn port_settings(network: &NodeNetwork, namespace: &str, pod: &str, requested: RateLimit) -> PortSettings {
    let fixed = network.fixed(namespace, pod);
    PortSettings {
        mtu: network.bridge.mtu,
        vlan: fixed.and_then(|fixed| fixed.vlan.clone()).or_else(|| network.port.vlan.clone()),
        rate_limit: fixed
            .and_then(|fixed| fixed.rate_limit)
            .unwrap_or_else(|| network.port.rate_limit.at_most(requested)),
        routed: BTreeSet::new(),
    }
}
