//! A port that a bridge should have, whatever owns it.

use super::attached::AttachedPort;
use super::backend::{PortBackend, TunnelEnds};
use super::name::{DeviceName, PortName};
use super::settings::{DesiredSettings, PortMtu, PortSettings};
use crate::model::attachment::Record;
use crate::model::bridge::BridgeOwner;
use crate::model::memif::MemifSecret;
use crate::model::owner::{NetworkDevice, NetworkTunnel, Owner, PatchedNetwork, PortOwner};
use crate::model::tagging::Tagging;
use std::iter;
use usnet_crds::{Bridge, BridgeName, EngineKind, NetworkName, NodeNetwork, Ownership, RingSize, UplinkName};

/// A port that an engine should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredPort {
    pub owner: PortOwner,
    /// The bridge that it is on; `None` for the NIC of an uplink in an engine without a bridge for
    /// it.
    pub bridge: Option<PortBridge>,
    pub name: PortName,
    pub backend: PortBackend,
    pub settings: DesiredSettings,
    pub creation: CreationOptions,
    /// The uplink that it depends on: it is created when the engine has that.
    pub uplink: Option<UplinkName>,
    /// The other port of a pair, which is created and recreated together with this one.
    pub pair: Option<Box<DesiredPort>>,
    pub policy: PortPolicy,
}

/// The bridge of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortBridge {
    pub name: BridgeName,
    /// The owner that the bridge must have, unless it is adopted.
    pub owner: BridgeOwner,
    pub ownership: Ownership,
}

/// What a port is created with. No engine reports it, and it cannot be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationOptions {
    /// Descriptors of each ring of a memif.
    pub ring_size: RingSize,
    /// The secret that the peer of a memif must present.
    pub secret: Option<MemifSecret>,
    /// The MAC address of a NIC.
    pub mac: Option<[u8; 6]>,
}

/// Whether a missing port is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortPolicy {
    /// Create the port if it is missing.
    Ensure,
    /// Keep the port if it exists, but do not create it.
    Keep,
}

impl PortBridge {
    /// The bridge of a network.
    pub fn of_network(network: &NetworkName, Bridge { name, ownership, .. }: &Bridge) -> Self {
        Self { name: name.clone(), owner: BridgeOwner::Network(network.clone()), ownership: *ownership }
    }

    /// The bridge of an uplink.
    pub fn of_uplink(uplink: &UplinkName) -> Self {
        let owner = BridgeOwner::Uplink(uplink.clone());
        Self { name: BridgeName::of_uplink(uplink), owner, ownership: Ownership::Managed }
    }
}

impl DesiredPort {
    /// The port of a pod, with what is recorded of it.
    pub fn of_attachment(Record { network, id, port, .. }: &Record) -> Self {
        let AttachedPort { name, bridge, ownership, backend, queues: _, ring_size, secret, settings } = port.clone();
        Self {
            owner: PortOwner::new(network, id),
            bridge: Some(PortBridge { name: bridge, owner: BridgeOwner::Network(network.clone()), ownership }),
            name,
            backend,
            settings: settings.into(),
            creation: CreationOptions { ring_size, secret, mac: None },
            uplink: None,
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// The port of a pod, with the present settings of its network, as far as they can change in
    /// place. What was assigned to the pod stays, whatever the network says now.
    pub fn of_attachment_on(network: &NodeNetwork, record: &Record) -> Self {
        let Record { pod, port: AttachedPort { settings, .. }, requested_rate_limit, .. } = record;
        let present = PortSettings::of_pod(network, &pod.namespace, &pod.name, *requested_rate_limit);
        let settings = PortSettings { routed: settings.routed.clone(), ..present }.into();
        let mut port = Self { settings, ..Self::of_attachment(record) };
        if let Some(bridge) = port.bridge.as_mut().filter(|bridge| bridge.name == network.bridge.name) {
            bridge.ownership = network.bridge.ownership;
        }
        port
    }

    /// The port of a network's own device.
    pub fn of_device(network: &NodeNetwork, device: &NetworkDevice) -> Self {
        Self {
            backend: PortBackend::Device { device: DeviceName::of_role(&network.name, device.role) },
            settings: DesiredSettings::plain(PortMtu::OfDevice(network.bridge.mtu)),
            ..Self::of_network(network, PortOwner::of_device(device))
        }
    }

    /// What connects a network to its uplink, by a VLAN of that or untagged: in Open vSwitch a pair
    /// of patch ports between both bridges, in VPP a sub-interface of the NIC. `None` without an
    /// uplink.
    pub fn of_patch(network: &NodeNetwork, policy: PortPolicy) -> Option<Self> {
        let on_uplink = network.uplink.as_ref()?;
        let uplink = &on_uplink.name;
        let owner = PortOwner::of_patch(&PatchedNetwork { uplink: uplink.clone(), network: network.name.clone() });
        let tagging = Tagging::of_uplink_vlan(on_uplink.vlan);
        let port = Self { uplink: Some(uplink.clone()), policy, ..Self::of_network(network, owner) };
        Some(match network.engine {
            EngineKind::OpenVswitch => {
                let far_name = PortName::of_uplink_end(&network.name);
                let far = Self {
                    bridge: Some(PortBridge::of_uplink(uplink)),
                    name: far_name.clone(),
                    backend: PortBackend::Patch { peer: port.name.clone() },
                    settings: DesiredSettings::tagging(Some(tagging)),
                    ..port.clone()
                };
                Self {
                    backend: PortBackend::Patch { peer: far_name },
                    settings: DesiredSettings::tagging(Some(Tagging::Untagged)),
                    pair: Some(Box::new(far)),
                    ..port
                }
            }
            EngineKind::Vpp => {
                Self { backend: PortBackend::SubInterface, settings: DesiredSettings::tagging(Some(tagging)), ..port }
            }
        })
    }

    /// The tunnel of a network to one peer over an uplink.
    pub fn of_tunnel(tunnel: &NetworkTunnel, bridge: PortBridge, uplink: &UplinkName, ends: TunnelEnds) -> Self {
        let owner = PortOwner::of_tunnel(tunnel);
        Self {
            name: PortName::of_owner(&owner.owner),
            owner,
            bridge: Some(bridge),
            backend: PortBackend::Vxlan { ends },
            settings: DesiredSettings::plain(PortMtu::Unmanaged),
            creation: CreationOptions::default(),
            uplink: Some(uplink.clone()),
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// A port on the bridge of a network, whose backend and settings are to be replaced.
    fn of_network(network: &NodeNetwork, owner: PortOwner) -> Self {
        Self {
            name: PortName::of_owner(&owner.owner),
            owner,
            bridge: Some(PortBridge::of_network(&network.name, &network.bridge)),
            backend: PortBackend::SubInterface,
            settings: DesiredSettings::tagging(None),
            creation: CreationOptions::default(),
            uplink: None,
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// The ports that it consists of: itself, and the other one of a pair.
    pub fn ends(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(self.pair.as_deref())
    }

    /// The name of its bridge.
    pub fn bridge_name(&self) -> Option<&BridgeName> {
        self.bridge.as_ref().map(|bridge| &bridge.name)
    }

    /// How the frames are tagged that leave the network through it, towards an uplink.
    pub fn uplink_tagging(&self) -> Option<&Tagging> {
        self.pair.as_deref().unwrap_or(self).settings.tagging.as_ref()
    }

    /// Whether settings that differ are changed. Other ports are recreated, because nothing but
    /// another client changes them.
    pub const fn is_changed_in_place(&self) -> bool {
        matches!(self.owner.owner, Owner::Attachment(_) | Owner::Nic(_))
    }

    /// Whether creating it again enables it, if another client has disabled it.
    pub const fn is_enabled_by_creation(&self) -> bool {
        matches!(self.owner.owner, Owner::Patch(_) | Owner::Nic(_))
    }
}
