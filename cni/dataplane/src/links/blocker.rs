//! What prevents a network from having its VXLAN device, and requires operator action.

use super::model::{DesiredVxlan, ObservedLinks, ObservedVxlan};
use super::owner::LinkOwner;
use crate::model::port::DeviceName;
use std::collections::BTreeMap;
use std::net::IpAddr;
use usnet_crds::{EngineKind, Mtu, NetworkName};

/// What prevents a network from having its VXLAN device, or its device from carrying all frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkBlocker {
    /// This process may not change devices.
    MissingPrivilege,
    /// No device of the node has the address that peers send to.
    AddressMissing { address: IpAddr },
    /// Another device has the VNI on this port.
    VniTaken {
        device: DeviceName,
        /// What it belongs to, if to a network.
        owner: Option<LinkOwner>,
        vni: u32,
        port: u16,
    },
    /// Another device, or another program, has the port.
    PortTaken {
        /// The device that has the port, if it is one.
        device: Option<DeviceName>,
        port: u16,
    },
    /// Frames of the network do not fit into the underlay.
    MtuTooLarge {
        /// The device that has the node's address.
        underlay: String,
        underlay_mtu: u32,
        /// The MTU of the network.
        mtu: Mtu,
        /// What VXLAN adds to each frame.
        overhead: u32,
    },
}

/// The networks of an engine that cannot have their device, or not as it should be, and why.
pub fn blockers(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
) -> BTreeMap<NetworkName, LinkBlocker> {
    let blocked = desired.iter().filter_map(|(network, device)| {
        Some((network.clone(), blocker(&LinkOwner::new(engine, network), device, observed)?))
    });
    blocked.collect()
}

pub(super) fn blocker(owner: &LinkOwner, desired: &DesiredVxlan, observed: &ObservedLinks) -> Option<LinkBlocker> {
    if !observed.may_change {
        return Some(LinkBlocker::MissingPrivilege);
    }
    let Some(underlay) = observed.underlays.get(&desired.local) else {
        return Some(LinkBlocker::AddressMissing { address: desired.local });
    };
    let own = observed.device_of(owner).map(|(index, _)| index);
    let others = || observed.vxlans.iter().filter(|(index, _)| Some(**index) != own).map(|(_, device)| device);
    let other = |is_in_the_way: fn(&ObservedVxlan, &DesiredVxlan) -> bool| {
        others().find(|device| device.port == desired.port && is_in_the_way(device, desired))
    };
    if let Some(taken) = other(|device, desired| !device.is_external && device.vni == desired.vni) {
        let (device, owner) = (taken.name.clone(), taken.owner());
        return Some(LinkBlocker::VniTaken { device, owner, vni: desired.vni, port: desired.port });
    }
    // Two devices of these kinds can exist on one port as long as one of them is down.
    let is_up = own.and_then(|index| observed.vxlans.get(&index)).is_some_and(|device| device.is_up);
    if let Some(taken) = other(|device, desired| device.is_up && !shares_port(device, desired)).filter(|_| !is_up) {
        return Some(LinkBlocker::PortTaken { device: Some(taken.name.clone()), port: desired.port });
    }
    (underlay.mtu < desired.underlay_mtu()).then(|| LinkBlocker::MtuTooLarge {
        underlay: underlay.name.clone(),
        underlay_mtu: underlay.mtu,
        mtu: desired.mtu,
        overhead: desired.overhead(),
    })
}

/// Whether the kernel lets both be up on one port.
const fn shares_port(other: &ObservedVxlan, desired: &DesiredVxlan) -> bool {
    let needs_checksum = matches!(other.local, Some(IpAddr::V6(_))) && !other.accepts_zero_checksum;
    !(other.is_external || needs_checksum && desired.local.is_ipv6())
}
