//! Interfaces, whether usnet owns them or not.

use super::filters::Filter;
use crate::engine::vpp::ports::{Frames, PortInterface, SubInterface, Tunnel};
use crate::engine::vpp::qos::Policed;
use crate::engine::vpp::queues::InterfaceQueues;
use crate::engine::vpp::routing;
use crate::engine::vpp::tags;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::{DeviceName, PortBackend};
use crate::model::routing::PrefixedAddress;
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::{NetworkName, UplinkName, Vlan, VlanTag};
use usnet_vpp::messages::{IfStatusFlags, SwInterfaceDetails, VtrOp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Interface {
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
    /// The addresses of a NIC, or of a sub-interface for the address of a NIC.
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
    /// What filters the frames that it receives, if tables are set for its index.
    pub(in crate::engine::vpp) filter: Option<Filter>,
    /// The access lists of usnet that it has; empty unless it is to be deleted.
    pub(in crate::engine::vpp) acls: BTreeSet<u32>,
    pub(in crate::engine::vpp) queues: InterfaceQueues,
    pub(in crate::engine::vpp) is_enabled: bool,
    pub(in crate::engine::vpp) has_peer: bool,
}

impl Interface {
    /// The interface of these details, without what other messages say of it.
    pub(super) fn of(details: &SwInterfaceDetails, port: Option<PortInterface>, domain: Option<u32>) -> Self {
        let tag = details.tag.to_string();
        let [mtu, ..] = details.mtu;
        Self {
            name: details.interface_name.to_string(),
            // A tag of usnet on an unsupported kind of interface does not imply ownership.
            owner: tags::owner(&tag, details.l2_address).filter(|_| port.is_some()),
            is_tagged: !tag.is_empty(),
            gateway: routing::gateway(&tag).filter(|_| port.is_none()),
            sub: SubInterface::of(details),
            underlay_of: None,
            addresses: BTreeSet::new(),
            tunnel: None,
            mac: details.l2_address,
            port,
            domain,
            routed: BTreeSet::new(),
            mtu,
            tagging: tagging(details),
            is_filtered: None,
            policed: Policed::default(),
            filter: None,
            acls: BTreeSet::new(),
            queues: InterfaceQueues::default(),
            is_enabled: details.flags.contains(IfStatusFlags::ADMIN_UP),
            has_peer: details.flags.contains(IfStatusFlags::LINK_UP),
        }
    }

    /// What it is as a port, unless it is a tunnel; `None` if usnet does not support this kind.
    pub(in crate::engine::vpp) fn backend(&self) -> Option<PortBackend> {
        match (&self.port, self.frames()) {
            (Some(port), _) => port.backend(),
            (None, Some(_)) => Some(PortBackend::SubInterface),
            (None, None) => None,
        }
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

    /// The frames that a sub-interface takes; `None` if it is no sub-interface, or takes others.
    pub(in crate::engine::vpp) fn frames(&self) -> Option<Frames> {
        self.sub.as_ref()?.frames
    }

    /// Whether its creation by usnet as a sub-interface was interrupted before it was tagged.
    pub(in crate::engine::vpp) fn may_be_connection(&self) -> bool {
        !self.is_tagged && self.domain.is_none() && !self.is_enabled && self.frames().is_some()
    }
}

/// A port in a VLAN pushes the VLAN's tag on what comes from its pod.
fn tagging(details: &SwInterfaceDetails) -> Tagging {
    match (details.vtr_op, details.vtr_push_dot1q) {
        (VtrOp::Disabled, _) => Tagging::Untagged,
        (VtrOp::Push1, 1) => match VlanTag::try_from(i64::from(details.vtr_tag1)) {
            Ok(tag) => Tagging::Vlan(Vlan::Access { tag }),
            Err(_) => Tagging::Other,
        },
        _ => Tagging::Other,
    }
}
