//! Creating, changing and deleting devices.

use super::KernelLinks;
use crate::isolation::settings;
use crate::links::model::DesiredVxlan;
use crate::links::owner::LinkOwner;
use crate::netlink::NetlinkError;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use nix::errno::Errno;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::Mtu;

impl KernelLinks {
    /// The device is still down, and neither sends nor receives. Returns its index.
    pub(super) fn create(
        &mut self,
        owner: &LinkOwner,
        underlay: u32,
        device: &DesiredVxlan,
    ) -> Result<u32, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(owner.device().to_string()),
            LinkAttribute::Address(owner.mac(device.local).octets().to_vec()),
            LinkAttribute::Mtu(device.mtu.get().into()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Vxlan),
                LinkInfo::Data(InfoData::Vxlan(settings(underlay, device))),
            ]),
        ];
        self.execute(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)?;
        let Some(index) = self.index_of(owner.device().as_str())? else {
            return Err(NetlinkError::Kernel(Errno::ENODEV.into()));
        };
        // The kernel has added a multicast group itself: a second entry would double broadcasts.
        if device.group.is_none() {
            self.change_peers(index, &device.peers, &BTreeSet::new())?;
        }
        self.configure(index, owner, None)?;
        Ok(index)
    }

    /// Sets the tag, and what keeps the node out of the network.
    pub(super) fn configure(&mut self, index: u32, owner: &LinkOwner, mtu: Option<Mtu>) -> Result<(), NetlinkError> {
        let mut message = of_index(index);
        message.attributes.push(LinkAttribute::IfAlias(owner.to_string()));
        message.attributes.extend(mtu.map(|mtu| LinkAttribute::Mtu(mtu.get().into())));
        (message.header.flags, message.header.change_mask) = (LinkFlags::Noarp, LinkFlags::Noarp);
        self.execute(RouteNetlinkMessage::SetLink(message), 0)?;
        self.set_isolated(index);
        Ok(())
    }

    /// The second layer: a kernel without IPv6 has none of its settings.
    pub(super) fn set_isolated(&mut self, index: u32) {
        let mut message = of_index(index);
        message.attributes.push(settings::attribute());
        let _second_layer = self.execute(RouteNetlinkMessage::SetLink(message), 0);
    }

    /// The settings of the node's own device in a network.
    pub(super) fn set_strict(&mut self, index: u32) {
        let mut message = of_index(index);
        message.attributes.push(settings::strict_attribute());
        let _second_layer = self.execute(RouteNetlinkMessage::SetLink(message), 0);
    }

    /// Older kernels only rename a device that is down.
    pub(super) fn rename(&mut self, index: u32, name: &str) -> Result<(), NetlinkError> {
        match self.set_name(index, name) {
            Err(error) if error.is(Errno::EBUSY) => {
                self.set_up(index, false)?;
                self.set_name(index, name)?;
                self.set_up(index, true)
            }
            other => other,
        }
    }

    /// The device may be gone.
    pub(super) fn delete(&mut self, index: u32) -> Result<(), NetlinkError> {
        match self.execute(RouteNetlinkMessage::DelLink(of_index(index)), 0) {
            Err(error) if error.is(Errno::ENODEV) => Ok(()),
            other => other,
        }
    }

    pub(super) fn set_name(&mut self, index: u32, name: &str) -> Result<(), NetlinkError> {
        let mut message = of_index(index);
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.execute(RouteNetlinkMessage::SetLink(message), 0)
    }

    pub(super) fn set_up(&mut self, index: u32, is_up: bool) -> Result<(), NetlinkError> {
        self.set_flag(index, LinkFlags::Up, is_up)
    }

    pub(super) fn set_flag(&mut self, index: u32, flag: LinkFlags, is_set: bool) -> Result<(), NetlinkError> {
        let mut message = of_index(index);
        let flags = if is_set { flag } else { LinkFlags::empty() };
        (message.header.flags, message.header.change_mask) = (flags, flag);
        self.execute(RouteNetlinkMessage::SetLink(message), 0)
    }

    fn index_of(&mut self, name: &str) -> Result<Option<u32>, NetlinkError> {
        Ok(self.link_of(name)?.map(|link| link.header.index))
    }

    /// The device of this name.
    pub(super) fn link_of(&mut self, name: &str) -> Result<Option<LinkMessage>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        let answers: Vec<_> = match self.netlink.request(RouteNetlinkMessage::GetLink(message), 0) {
            Err(error) if error.is(Errno::ENODEV) => return Ok(None),
            other => other?,
        };
        let link = |answer: RouteNetlinkMessage| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(link),
            _ => None,
        };
        Ok(answers.into_iter().find_map(link))
    }
}

/// Most addresses that a device remembers. Frames to one that it has not room for go to all peers.
/// The kernel does not change it in a device that exists.
const LEARNED_MAX: u32 = 8192;

/// No UDP checksum: the kernel leaves it to the underlay, and over a veth pair it stays unfinished.
/// Receivers in user space drop such packets.
fn settings(underlay: u32, device: &DesiredVxlan) -> Vec<InfoVxlan> {
    let mut settings = vec![
        InfoVxlan::Id(device.vni),
        InfoVxlan::Port(device.port),
        InfoVxlan::Link(underlay),
        InfoVxlan::Limit(LEARNED_MAX),
    ];
    match device.group {
        Some(IpAddr::V4(group)) => settings.push(InfoVxlan::Group(group)),
        Some(IpAddr::V6(group)) => settings.push(InfoVxlan::Group6(group)),
        None => {}
    }
    match device.local {
        IpAddr::V4(address) => settings.extend([InfoVxlan::Local(address), InfoVxlan::UDPCsum(false)]),
        IpAddr::V6(address) => settings.extend([
            InfoVxlan::Local6(address),
            InfoVxlan::UDPZeroCsumTX(true),
            InfoVxlan::UDPZeroCsumRX(true),
        ]),
    }
    settings
}

pub(super) fn of_index(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}
