//! Interfaces, whether usnet owns them or not.

use crate::engine::vpp::ports::PortInterface;
use crate::engine::vpp::qos::Policed;
use crate::engine::vpp::tags;
use crate::engine::vpp::tunnels::Tunnel;
use crate::engine::vpp::uplinks::SubInterface;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::{DeviceName, PortBackend};
use crate::model::routing::PrefixedAddress;
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::{NetworkName, UplinkName};

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Interface {
    /// VPP's name of it.
    pub(in crate::engine::vpp) name: String,
    /// What it belongs to; `None` if usnet does not own it.
    pub(in crate::engine::vpp) owner: Option<Owner>,
    pub(in crate::engine::vpp) is_tagged: bool,
    /// The network whose gateway it is.
    pub(in crate::engine::vpp) gateway: Option<NetworkName>,
    /// What it connects to; `None` for a kind of interface that usnet does not support.
    pub(in crate::engine::vpp) port: Option<PortInterface>,
    /// What it is a part of, if it is a sub-interface.
    pub(in crate::engine::vpp) sub: Option<SubInterface>,
    /// The uplink whose address of the node it has, if it is a sub-interface for that.
    pub(in crate::engine::vpp) underlay_of: Option<UplinkName>,
    /// Its addresses; none unless it is a NIC or is for its address.
    pub(in crate::engine::vpp) addresses: BTreeSet<PrefixedAddress>,
    /// Where it leads, if it is a VXLAN tunnel.
    pub(in crate::engine::vpp) tunnel: Option<Tunnel>,
    pub(in crate::engine::vpp) mac: [u8; 6],
    /// The bridge domain that it is in, or whose BVI routes to it.
    pub(in crate::engine::vpp) domain: Option<u32>,
    /// The addresses that the BVI routes to it.
    pub(in crate::engine::vpp) routed: BTreeSet<IpAddr>,
    pub(in crate::engine::vpp) mtu: u32,
    pub(in crate::engine::vpp) tagging: Tagging,
    /// Whether it has the EFP filter; `None` if that was not read.
    pub(in crate::engine::vpp) is_filtered: Option<bool>,
    pub(in crate::engine::vpp) policed: Policed,
    pub(in crate::engine::vpp) is_enabled: bool,
    pub(in crate::engine::vpp) has_peer: bool,
}

impl Interface {
    /// Its endpoint towards the pod; `None` if usnet does not support this kind.
    pub(in crate::engine::vpp) fn backend(&self) -> Option<PortBackend> {
        self.port.as_ref()?.backend()
    }

    /// The name of its socket or device.
    pub(in crate::engine::vpp) fn endpoint(&self) -> Option<&str> {
        self.port.as_ref().map(PortInterface::endpoint)
    }

    /// The device of the kernel that it is on.
    pub(in crate::engine::vpp) fn device(&self) -> Option<DeviceName> {
        self.backend()?.device().cloned()
    }

    /// Whether its creation on a NIC by usnet was interrupted before it was tagged.
    pub(in crate::engine::vpp) fn may_be_nic(&self) -> bool {
        !self.is_tagged && self.domain.is_none() && tags::is_device_mac(self.mac) && self.device().is_some()
    }

    /// Whether its creation by usnet was interrupted before it was tagged: it is untagged, and is
    /// on a memif socket id that usnet owns or on a device with a generated name.
    pub(in crate::engine::vpp) fn is_incomplete(&self, own_socket_ids: MemifSocketIds) -> bool {
        !self.is_tagged && self.port.as_ref().is_some_and(|port| port.has_own_endpoint(own_socket_ids))
    }
}
