//! Reading the devices.

use super::{KernelLinks, failed};
use crate::isolation::settings;
use crate::links::LinkError;
use crate::links::model::{ObservedLinks, ObservedVxlan, Underlay};
use crate::links::pair::{EndOwner, ObservedEnd, Pair, PairEnd};
use crate::model::port::DeviceName;
use crate::netlink::NetlinkError;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage,
};
use nix::errno::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::IpAddr;

/// The bit of `CAP_NET_ADMIN` in a set of capabilities.
const CAP_NET_ADMIN: u32 = 12;

pub(super) fn observe(links: &mut KernelLinks, addresses: &BTreeSet<IpAddr>) -> Result<ObservedLinks, LinkError> {
    let may_change = has_net_admin()?;
    let mut vxlans = links.vxlans().map_err(failed("list VXLAN devices"))?;
    let owned = vxlans.iter().filter(|(_, device)| is_owned(device)).map(|(index, _)| *index).collect();
    for (index, peers) in links.peers(&owned).map_err(failed("list the peers of VXLAN devices"))? {
        if let Some(device) = vxlans.get_mut(&index) {
            device.peers = peers;
        }
    }
    let ends = links.ends_of(Pair::Overlay).map_err(failed("list the pairs of VXLAN devices"))?;
    let underlays = links.underlays(addresses).map_err(failed("list the addresses of the node"))?;
    Ok(ObservedLinks { may_change, vxlans, ends, underlays })
}

/// An interrupted creation left no alias.
fn is_owned(device: &ObservedVxlan) -> bool {
    device.owner().is_some() || device.alias.is_none()
}

/// Whether this process may change devices.
pub(super) fn has_net_admin() -> Result<bool, LinkError> {
    read_net_admin().map_err(|source| LinkError::Netlink {
        what: "read the capabilities of this process".to_owned(),
        source: NetlinkError::Socket(source),
    })
}

fn read_net_admin() -> io::Result<bool> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    let effective =
        effective.ok_or_else(|| io::Error::other("no effective capabilities in /proc/thread-self/status"))?;
    Ok(effective & (1 << CAP_NET_ADMIN) != 0)
}

impl KernelLinks {
    /// The kernel returns all devices if it has not loaded VXLAN.
    fn vxlans(&mut self) -> Result<BTreeMap<u32, ObservedVxlan>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Vxlan)]),
            LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]),
        ];
        let answers = self.dump(&RouteNetlinkMessage::GetLink(message))?;
        let device = |answer: RouteNetlinkMessage| match answer {
            RouteNetlinkMessage::NewLink(link) => Some((link.header.index, vxlan(&link)?)),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(device).collect())
    }

    pub(super) fn ends_of(&mut self, pair: Pair) -> Result<BTreeMap<u32, ObservedEnd>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
            LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]),
        ];
        let mut ends = BTreeMap::new();
        for answer in self.dump(&RouteNetlinkMessage::GetLink(message))? {
            let RouteNetlinkMessage::NewLink(link) = answer else { continue };
            let Some(mut found) = end(&link).filter(|found| found.end.pair() == pair) else { continue };
            if found.end != PairEnd::Engine {
                found.splits_packets = match self.splits_packets(link.header.index) {
                    Err(error) if error.is(Errno::ENODEV) => continue,
                    splits => splits?,
                };
            }
            ends.insert(link.header.index, found);
        }
        Ok(ends)
    }

    fn underlays(&mut self, addresses: &BTreeSet<IpAddr>) -> Result<BTreeMap<IpAddr, Underlay>, NetlinkError> {
        let mut underlays = BTreeMap::new();
        if addresses.is_empty() {
            return Ok(underlays);
        }
        for answer in self.dump(&RouteNetlinkMessage::GetAddress(AddressMessage::default()))? {
            let RouteNetlinkMessage::NewAddress(found) = answer else { continue };
            let Some(address) = address_of(&found).filter(|address| addresses.contains(address)) else { continue };
            if let Some(underlay) = self.underlay(found.header.index, found.header.prefix_len)? {
                underlays.insert(address, underlay);
            }
        }
        Ok(underlays)
    }

    fn underlay(&mut self, index: u32, prefix: u8) -> Result<Option<Underlay>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
        let answers: Vec<_> = match self.netlink.request(RouteNetlinkMessage::GetLink(message), 0) {
            Err(error) if error.is(Errno::ENODEV) => return Ok(None),
            other => other?,
        };
        Ok(answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => {
                let (name, mtu) = (name(link)?.to_owned(), mtu(link)?);
                Some(Underlay { index, name, mtu, prefix })
            }
            _ => None,
        }))
    }
}

/// The address of this end: on a point-to-point device the other attribute is that of the peer.
pub(super) fn address_of(found: &AddressMessage) -> Option<IpAddr> {
    let local = found.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    local.or_else(|| {
        found.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })
}

pub(super) fn name(link: &LinkMessage) -> Option<&str> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.as_str()),
        _ => None,
    })
}

pub(super) fn mtu(link: &LinkMessage) -> Option<u32> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Mtu(mtu) => Some(*mtu),
        _ => None,
    })
}

/// None for a device that is no end of a pair of usnet.
fn end(link: &LinkMessage) -> Option<ObservedEnd> {
    let alias = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfAlias(alias) => Some(alias),
        _ => None,
    });
    let EndOwner { owner, end } = alias?.parse().ok()?;
    let (name, is_up) = (DeviceName::observed(name(link)?), link.header.flags.contains(LinkFlags::Up));
    let is_strict = end != PairEnd::Node || settings::are_strict(&link.attributes);
    Some(ObservedEnd { owner, end, name, mtu: mtu(link)?, is_up, splits_packets: false, is_strict })
}

/// None for a device of another kind.
fn vxlan(link: &LinkMessage) -> Option<ObservedVxlan> {
    let info = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::LinkInfo(info) => Some(info),
        _ => None,
    })?;
    let settings = info.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::Vxlan(settings)) => Some(settings),
        _ => None,
    })?;
    let mut device = ObservedVxlan {
        name: DeviceName::observed(name(link)?),
        alias: None,
        mac: [0; 6],
        vni: 0,
        port: 0,
        local: None,
        group: None,
        underlay: None,
        is_external: false,
        accepts_zero_checksum: false,
        has_udp_checksum: false,
        mtu: mtu(link)?,
        is_up: link.header.flags.contains(LinkFlags::Up),
        answers_arp: !link.header.flags.contains(LinkFlags::Noarp),
        peers: BTreeSet::new(),
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfAlias(alias) => device.alias = Some(alias.clone()),
            LinkAttribute::Address(mac) => device.mac = <[u8; 6]>::try_from(mac.as_slice()).unwrap_or_default(),
            _ => {}
        }
    }
    settings.iter().for_each(|setting| read_setting(&mut device, setting));
    Some(device)
}

fn read_setting(device: &mut ObservedVxlan, setting: &InfoVxlan) {
    let is_v6 = matches!(device.local, Some(IpAddr::V6(_)));
    match setting {
        InfoVxlan::Id(vni) => device.vni = *vni,
        InfoVxlan::Port(port) => device.port = *port,
        InfoVxlan::Link(index) => device.underlay = Some(*index),
        InfoVxlan::Local(address) => device.local = Some((*address).into()),
        InfoVxlan::Local6(address) => device.local = Some((*address).into()),
        InfoVxlan::Group(address) => device.group = Some((*address).into()),
        InfoVxlan::Group6(address) => device.group = Some((*address).into()),
        InfoVxlan::UDPZeroCsumRX(accepts) => device.accepts_zero_checksum = *accepts,
        InfoVxlan::CollectMetadata(is_external) => device.is_external = *is_external,
        // The kernel reports the address first.
        InfoVxlan::UDPCsum(has_checksum) if !is_v6 => device.has_udp_checksum = *has_checksum,
        InfoVxlan::UDPZeroCsumTX(has_none) if is_v6 => device.has_udp_checksum = !*has_none,
        _ => {}
    }
}
