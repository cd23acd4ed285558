//! Network devices: the veth pair and its attributes.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use nix::errno::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use usnet_crds::{MacAddress, Mtu};
use usnet_dataplane::isolation::settings;
use usnet_dataplane::netlink::{Netlink, NetlinkError};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) is_up: bool,
    pub(super) is_veth: bool,
    /// Whether it is a tun or a tap.
    pub(super) is_tun: bool,
    pub(super) is_promiscuous: bool,
    pub(super) mac: Vec<u8>,
    pub(super) mtu: u32,
    pub(super) alias: Option<String>,
    /// The index of the peer in the peer's namespace; none when the peer is in the same namespace.
    pub(super) peer: Option<u32>,
}

/// The parameters of a veth pair: `device` is the end on the node, `interface` the end in the pod.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewPair<'a> {
    pub(super) device: &'a str,
    pub(super) device_mac: MacAddress,
    pub(super) interface: &'a str,
    pub(super) mac: MacAddress,
    pub(super) mtu: Mtu,
    pub(super) namespace: BorrowedFd<'a>,
}

/// Creates both ends, each in its namespace. The kernel creates both or none.
pub(super) fn create_pair(netlink: &mut Netlink, pair: &NewPair<'_>) -> Result<(), NetlinkError> {
    let end = |name: &str, mac: MacAddress| {
        let mut end = LinkMessage::default();
        let mac = LinkAttribute::Address(mac.octets().to_vec());
        end.attributes = vec![LinkAttribute::IfName(name.to_owned()), mac, LinkAttribute::Mtu(pair.mtu.get().into())];
        end
    };
    let mut peer = end(pair.interface, pair.mac);
    peer.attributes.push(LinkAttribute::NetNsFd(pair.namespace.as_raw_fd()));
    let mut message = end(pair.device, pair.device_mac);
    let kind = [LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer)))];
    message.attributes.push(LinkAttribute::LinkInfo(kind.to_vec()));
    execute(netlink, RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Sets a device up, and sets its alias if there is one.
pub(super) fn set_link_up(netlink: &mut Netlink, index: u32, alias: Option<&str>) -> Result<(), NetlinkError> {
    let mut message = message_for(index);
    (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
    message.attributes.extend(alias.map(|alias| LinkAttribute::IfAlias(alias.to_owned())));
    execute(netlink, RouteNetlinkMessage::SetLink(message), 0)
}

/// Sets the attributes by which the kernel keeps the node out of the network, so far as the kernel
/// has them.
pub(super) fn set_isolated(netlink: &mut Netlink, index: u32) {
    let mut message = message_for(index);
    message.attributes.push(settings::attribute());
    // The rules for the device isolate it even if the kernel does not know the attributes.
    let _ignored = execute(netlink, RouteNetlinkMessage::SetLink(message), 0);
}

/// Deletes a device, and with it the other end of its pair. The device may be gone already.
pub(super) fn delete(netlink: &mut Netlink, index: u32) -> Result<(), NetlinkError> {
    match execute(netlink, RouteNetlinkMessage::DelLink(message_for(index)), 0) {
        Err(error) if error.is(Errno::ENODEV) => Ok(()),
        other => other,
    }
}

/// Finds a device by its name in the thread's network namespace.
pub(super) fn find(netlink: &mut Netlink, name: &str) -> Result<Option<Link>, NetlinkError> {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    let answers: Vec<RouteNetlinkMessage> = match netlink.request(RouteNetlinkMessage::GetLink(message), 0) {
        Err(error) if error.is(Errno::ENODEV) => return Ok(None),
        other => other?,
    };
    Ok(answers.into_iter().find_map(link))
}

/// Finds the end of a pair in the thread's network namespace by the index of the other end, which
/// is in another one. It has this name unless its pod has renamed it, and another device of this
/// name is the pod's own.
pub(super) fn find_other_end(netlink: &mut Netlink, name: &str, peer: u32) -> Result<Option<Link>, NetlinkError> {
    let is_end = |link: &Link| link.is_veth && link.peer == Some(peer);
    if let Some(found) = find(netlink, name)?.filter(is_end) {
        return Ok(Some(found));
    }
    let all: Vec<RouteNetlinkMessage> =
        netlink.request(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)?;
    Ok(all.into_iter().filter_map(link).find(is_end))
}

fn link(answer: RouteNetlinkMessage) -> Option<Link> {
    match answer {
        RouteNetlinkMessage::NewLink(message) => Some(read(message)),
        _ => None,
    }
}

fn read(message: LinkMessage) -> Link {
    let is_up = message.header.flags.contains(LinkFlags::Up);
    let mut link = Link { index: message.header.index, is_up, ..Link::default() };
    let mut is_apart = false;
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::Address(mac) => link.mac = mac,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Promiscuity(count) => link.is_promiscuous = count > 0,
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias),
            LinkAttribute::Link(peer) => link.peer = Some(peer),
            LinkAttribute::LinkNetNsId(_) => is_apart = true,
            LinkAttribute::LinkInfo(info) => {
                link.is_veth = info.contains(&LinkInfo::Kind(InfoKind::Veth));
                link.is_tun = info.contains(&LinkInfo::Kind(InfoKind::Tun));
            }
            _ => {}
        }
    }
    Link { peer: link.peer.filter(|_| is_apart), ..link }
}

fn message_for(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

/// Sends a request that the kernel only acknowledges.
pub(super) fn execute(netlink: &mut Netlink, message: RouteNetlinkMessage, flags: u16) -> Result<(), NetlinkError> {
    netlink.request::<_, RouteNetlinkMessage>(message, flags).map(drop)
}
