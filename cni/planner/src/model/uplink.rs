//! Uplinks: a NIC of the node, and the networks that are connected to it. With Open vSwitch the NIC
//! is on a bridge of its own, to which each network is patched; with VPP each network has a
//! sub-interface of the NIC.

use crate::model::observed::ObservedPort;
use crate::model::owner::{NicIdentity, Owner, PortOwner, UplinkNic};
use crate::model::port::{
    Bond, BondMember, CreationOptions, DesiredPort, DesiredSettings, DeviceName, PortBackend, PortBridge, PortMtu,
    PortName, PortPolicy,
};
use crate::model::tagging::Tagging;
use crate::model::underlay::UplinkAddress;
use usnet_crds::{BondMode, BridgeName, EngineKind, LacpRate, Mtu, PciAddress, Queues, UplinkName, VlanTag, XdpMode};

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
    /// The MAC address of a NIC that the kernel drives.
    pub mac: Option<[u8; 6]>,
    pub mtu: PortMtu,
    /// Queues on which it receives; none leaves that alone.
    pub receive_queues: Option<Queues>,
}

impl DesiredNic {
    /// A NIC that the kernel drives.
    pub fn kernel(device: &DeviceName, index: u32, mac: [u8; 6]) -> Self {
        Self {
            identity: NicIdentity::KernelIndex(index),
            name: PortName::from(device),
            backend: PortBackend::Device { device: device.clone() },
            mac: Some(mac),
            mtu: PortMtu::Unmanaged,
            receive_queues: None,
        }
    }

    /// A NIC whose frames the engine has by AF_XDP. It needs a socket for each of these queues: the
    /// kernel receives what comes on others.
    pub fn af_xdp(device: &DeviceName, index: u32, mac: [u8; 6], mode: XdpMode, queues: Queues) -> Self {
        let backend = PortBackend::AfXdp { device: device.clone(), mode };
        Self { backend, receive_queues: Some(queues), ..Self::kernel(device, index, mac) }
    }

    /// A bond of these NICs with the MTU of the first. Its port is called after the uplink. None
    /// without members.
    pub fn bond(uplink: &UplinkName, (mode, lacp_rate): (BondMode, LacpRate), members: Vec<Self>) -> Option<Self> {
        let (mac, mtu) = members.first().map(|first| (first.mac, first.mtu))?;
        let mut members: Vec<_> =
            members.into_iter().map(|nic| (nic.identity.clone(), nic.into_member(uplink))).collect();
        members.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        let (identities, members) = members.into_iter().unzip();
        let identity = NicIdentity::Bond(identities);
        let owner = Owner::Nic(UplinkNic { uplink: uplink.clone(), identity: identity.clone() });
        let backend = PortBackend::Bond { bond: Bond::new(mode, lacp_rate, members) };
        Some(Self { identity, name: PortName::of_owner(&owner), backend, mac, mtu, receive_queues: None })
    }

    fn into_member(self, uplink: &UplinkName) -> BondMember {
        let Self { name, backend, receive_queues, .. } = self;
        let name = match &backend {
            PortBackend::Dpdk { address } => PortName::of_bond_member(uplink, *address),
            _ => name,
        };
        BondMember { name, backend, receive_queues }
    }

    /// A member that a bond has already.
    pub fn of_member(identity: NicIdentity, member: BondMember) -> Self {
        let BondMember { name, backend, receive_queues } = member;
        Self { identity, name, backend, mac: None, mtu: PortMtu::Unmanaged, receive_queues }
    }

    /// A NIC that the engine drives by DPDK. It has no name of its own: its port is called after
    /// the uplink.
    pub fn dpdk(uplink: &UplinkName, address: PciAddress, mtu: Option<Mtu>, queues: Option<Queues>) -> Self {
        let identity = NicIdentity::PciAddress(address);
        let owner = Owner::Nic(UplinkNic { uplink: uplink.clone(), identity: identity.clone() });
        Self {
            identity,
            name: PortName::of_owner(&owner),
            backend: PortBackend::Dpdk { address },
            mac: None,
            mtu: PortMtu::Set(mtu.unwrap_or_default()),
            receive_queues: Some(queues.unwrap_or_default()),
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
        let DesiredNic { identity, name, backend, mac, mtu, receive_queues } = self.nic.clone()?;
        let nic = UplinkNic { uplink: self.name.clone(), identity };
        let creation = CreationOptions { mac, ..CreationOptions::default() };
        let port = self.port_of(&nic, name, backend);
        let settings = DesiredSettings { mtu, receive_queues, ..port.settings };
        Some(DesiredPort { creation, settings, ..port })
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
