//! What an engine of this node should have.

use crate::model::attachment::{AttachmentId, Progress, Record};
use crate::model::observed::ObservedPort;
use crate::model::owner::{NetworkDevice, Owner};
use crate::model::port::{DesiredPort, PortBackend, PortName, PortPolicy};
use crate::model::underlay::DesiredTunnels;
use crate::model::uplink::DesiredUplink;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork, UplinkName};

/// What one engine of this node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// The networks, each with its bridge.
    pub networks: BTreeMap<NetworkName, Arc<NodeNetwork>>,
    /// The uplinks that networks are connected to, with their NICs.
    pub uplinks: BTreeMap<UplinkName, DesiredUplink>,
    /// The ports, without those of NICs and tunnels.
    pub ports: BTreeMap<Owner, DesiredPort>,
    /// The tunnels of networks whose engine encapsulates.
    pub tunnels: BTreeMap<NetworkName, DesiredTunnels>,
    /// The networks whose gateways are down for a while.
    pub held_gateways: BTreeSet<NetworkName>,
    /// The attachments that must not have a port any more. A port that was not tagged yet is
    /// identified by its socket alone.
    pub detached: BTreeMap<AttachmentId, TornDownAttachment>,
    /// The ports that the legacy plugin created, whether they are still desired or not. They have
    /// no ownership tag until they are taken over.
    pub legacy_ports: BTreeMap<AttachmentId, DesiredPort>,
}

/// An attachment whose DEL has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornDownAttachment {
    /// The network that it had joined.
    pub network: NetworkName,
    /// How its port met its pod.
    pub backend: PortBackend,
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

    /// The desired state of networks that others have as well: a node may have thousands.
    pub fn of_shared<'a>(
        networks: impl IntoIterator<Item = Arc<NodeNetwork>>,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        let networks = networks.into_iter().map(|network| (network.name.clone(), network)).collect();
        let mut desired = Self { networks, ..Self::default() };
        records.into_iter().for_each(|record| desired.ingest(record));
        desired
    }

    /// Adds the ports of these devices of networks.
    #[must_use]
    pub fn with_devices<'a>(self, devices: impl IntoIterator<Item = &'a NetworkDevice>) -> Self {
        let port = |device: &NetworkDevice| Some(DesiredPort::of_device(self.networks.get(&device.network)?, device));
        let ports: Vec<_> = devices.into_iter().filter_map(port).collect();
        self.with_ports(ports)
    }

    /// Adds ports that belong to networks. Those of networks that this node does not have are left
    /// out.
    #[must_use]
    pub fn with_ports(mut self, ports: impl IntoIterator<Item = DesiredPort>) -> Self {
        for port in ports {
            if port.owner.network.as_ref().is_some_and(|network| self.networks.contains_key(network)) {
                self.ports.insert(port.owner.owner.clone(), port);
            }
        }
        self
    }

    /// Sets the uplinks.
    #[must_use]
    pub fn with_uplinks(mut self, uplinks: impl IntoIterator<Item = DesiredUplink>) -> Self {
        self.uplinks = uplinks.into_iter().map(|uplink| (uplink.name.clone(), uplink)).collect();
        self
    }

    /// Sets the networks whose gateways are down.
    #[must_use]
    pub fn with_held_gateways(mut self, networks: BTreeSet<NetworkName>) -> Self {
        self.held_gateways = networks;
        self
    }

    /// Sets the tunnels. Those of networks that this node does not have are left out.
    #[must_use]
    pub fn with_tunnels(mut self, tunnels: impl IntoIterator<Item = DesiredTunnels>) -> Self {
        let tunnels = tunnels.into_iter().map(|tunnels| (tunnels.network.clone(), tunnels));
        self.tunnels = tunnels.filter(|(network, _)| self.networks.contains_key(network)).collect();
        self
    }

    /// The attachments that have, or may have, a port.
    pub fn attachments(&self) -> impl Iterator<Item = (&AttachmentId, &DesiredPort)> {
        self.ports.iter().filter_map(|(owner, port)| Some((owner.attachment()?, port)))
    }

    /// The port of an attachment.
    pub fn attachment(&self, id: &AttachmentId) -> Option<&DesiredPort> {
        self.ports.get(&Owner::Attachment(id.clone()))
    }

    /// The port that has the owner of an observed one.
    pub fn port_for(&self, name: &PortName, observed: &ObservedPort) -> Option<Cow<'_, DesiredPort>> {
        let owner = &observed.owner.as_ref()?.owner;
        match owner {
            Owner::Nic(nic) => self.uplinks.get(&nic.uplink)?.port_or_joined((name, observed)).map(Cow::Owned),
            Owner::Tunnel(tunnel) => {
                let tunnels = self.tunnels.get(&tunnel.network)?;
                tunnels.peers.contains(&tunnel.peer).then(|| Cow::Owned(tunnels.port_to(tunnel.peer)))
            }
            Owner::Attachment(_) | Owner::Network(_) | Owner::Patch(_) => self.ports.get(owner).map(Cow::Borrowed),
        }
    }

    fn ingest(&mut self, record: &Record) {
        if record.taken_over {
            self.legacy_ports.insert(record.id.clone(), DesiredPort::of_attachment(record));
        }
        let policy = match record.progress {
            Progress::Attached => PortPolicy::Ensure,
            Progress::Attaching => PortPolicy::Keep,
            Progress::Detaching | Progress::Detached => {
                let (network, backend) = (record.network.clone(), record.port.backend.clone());
                self.detached.insert(record.id.clone(), TornDownAttachment { network, backend });
                return;
            }
        };
        let port = match self.networks.get(&record.network) {
            Some(network) => DesiredPort::of_attachment_on(network, record),
            None => DesiredPort::of_attachment(record),
        };
        let port = DesiredPort { policy, ..port };
        self.ports.insert(port.owner.owner.clone(), port);
    }
}
