//! Uplinks: a NIC of the node, and the networks that are connected to it. With Open vSwitch the NIC
//! is on a bridge of its own, to which each network is patched; with VPP each network has a
//! sub-interface of the NIC.

use crate::model::observed::ObservedPort;
use crate::model::owner::{NicIdentity, Owner, PortOwner, UplinkNic};
use crate::model::port::{
    CreationOptions, DesiredPort, DesiredSettings, DeviceName, PortBackend, PortBridge, PortName, PortPolicy,
};
use crate::model::tagging::Tagging;
use crate::model::underlay::UplinkAddress;
use usnet_crds::{BridgeName, EngineKind, UplinkName, VlanTag};

/// An uplink that at least one network of this node is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredUplink {
    pub name: UplinkName,
    /// The NIC to join; without one, the NIC that is joined stays, and none is added.
    pub nic: Option<DesiredNic>,
    /// The bridge that the NIC is on; VPP has none.
    pub bridge: Option<UplinkBridge>,
    /// The address of this node on the NIC, for overlays that the engine encapsulates.
    pub address: Option<UplinkAddress>,
}

/// The bridge of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkBridge {
    pub name: BridgeName,
    /// What the port of the NIC lets through: the VLANs of the networks.
    pub tagging: Tagging,
}

/// The NIC of an uplink, as a port of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredNic {
    pub identity: NicIdentity,
    /// The name of the port; that of the device where an engine names ports so.
    pub name: PortName,
    pub backend: PortBackend,
    pub mac: [u8; 6],
}

impl DesiredNic {
    /// A NIC that the kernel drives.
    pub fn kernel(device: &DeviceName, index: u32, mac: [u8; 6]) -> Self {
        Self {
            identity: NicIdentity::KernelIndex(index),
            name: PortName::from(device),
            backend: PortBackend::Device { device: device.clone() },
            mac,
        }
    }
}

impl DesiredUplink {
    /// An uplink of this engine with networks in these VLANs, or with tunnels; `None` without any.
    pub fn of(
        engine: EngineKind,
        name: &UplinkName,
        nic: Option<DesiredNic>,
        vlans: impl IntoIterator<Item = Option<VlanTag>>,
    ) -> Option<Self> {
        let tagging = Tagging::of_nic(vlans)?;
        let bridge = match engine {
            EngineKind::OpenVswitch => Some(UplinkBridge { name: BridgeName::of_uplink(name), tagging }),
            EngineKind::Vpp => None,
        };
        Some(Self { name: name.clone(), nic, bridge, address: None })
    }

    /// The uplink with this address on its NIC.
    #[must_use]
    pub fn with_address(self, address: Option<UplinkAddress>) -> Self {
        Self { address, ..self }
    }

    /// The port of the NIC to join.
    pub fn port(&self) -> Option<DesiredPort> {
        let DesiredNic { identity, name, backend, mac } = self.nic.clone()?;
        let nic = UplinkNic { uplink: self.name.clone(), identity };
        let creation = CreationOptions { mac: Some(mac), ..CreationOptions::default() };
        Some(DesiredPort { creation, ..self.port_of(&nic, name, backend) })
    }

    /// The port of the NIC when this one is joined: if no other NIC is to be joined, it stays.
    pub fn port_or_joined(&self, joined: (&PortName, &ObservedPort)) -> Option<DesiredPort> {
        if self.nic.is_some() {
            return self.port();
        }
        let (name, port) = joined;
        match &port.owner.as_ref()?.owner {
            Owner::Nic(nic) if nic.uplink == self.name => {
                let port = self.port_of(nic, name.clone(), port.backend.clone()?);
                Some(DesiredPort { policy: PortPolicy::Keep, ..port })
            }
            _ => None,
        }
    }

    fn port_of(&self, nic: &UplinkNic, name: PortName, backend: PortBackend) -> DesiredPort {
        DesiredPort {
            owner: PortOwner::of_nic(nic),
            bridge: self.bridge.as_ref().map(|_| PortBridge::of_uplink(&self.name)),
            name,
            backend,
            settings: DesiredSettings::tagging(self.bridge.as_ref().map(|bridge| bridge.tagging.clone())),
            creation: CreationOptions::default(),
            uplink: None,
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// Whether a port with this owner is that of its NIC.
    pub(crate) fn has(&self, owner: &PortOwner) -> bool {
        matches!(&owner.owner, Owner::Nic(nic) if nic.uplink == self.name)
    }
}
