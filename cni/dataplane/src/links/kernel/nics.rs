//! Reading the NICs of the node, and changing one.

use super::observe::{address_of, has_net_admin, mtu, name};
use super::{KernelLinks, failed};
use crate::links::LinkError;
use crate::links::nics::{Nics, ObservedNic, ObservedNics, ObservedOffloads, ReceiveOffload};
use crate::model::port::DeviceName;
use crate::netlink::NetlinkError;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::InterfaceAddress;

impl Nics for KernelLinks {
    fn observe_nics(&mut self) -> Result<ObservedNics, LinkError> {
        let may_change = has_net_admin()?;
        let mut nics = self.nics().map_err(failed("list the devices of the node"))?;
        for (index, address) in self.addresses().map_err(failed("list the addresses of the node"))? {
            if let Some(nic) = nics.get_mut(&index) {
                nic.addresses.insert(address);
            }
        }
        for index in self.default_routes().map_err(failed("list the routes of the node"))? {
            if let Some(nic) = nics.get_mut(&index) {
                nic.has_default_route = true;
            }
        }
        Ok(ObservedNics { may_change, nics })
    }

    fn receive_offloads(&mut self, index: u32) -> Result<ObservedOffloads, LinkError> {
        match self.ethtool.features(index) {
            Ok(features) => Ok(ObservedOffloads::of(&features.active, &features.changeable)),
            // No family `ethtool`, no features, or no device any more.
            Err(error) if [Errno::ENOENT, Errno::EOPNOTSUPP, Errno::ENODEV].iter().any(|errno| error.is(*errno)) => {
                Ok(ObservedOffloads::default())
            }
            Err(error) => Err(failed("read the features of a NIC")(error)),
        }
    }

    fn set_receive_offload(&mut self, index: u32, offload: ReceiveOffload, is_on: bool) -> Result<(), LinkError> {
        let what = format!("switch {offload} of a NIC {}", if is_on { "on" } else { "off" });
        self.ethtool.set_features(index, &[(offload.kernel_name(), is_on)]).map_err(failed(&what))
    }

    fn set_nic_up(&mut self, index: u32) -> Result<(), LinkError> {
        self.set_up(index, true).map_err(failed("set a NIC up"))
    }

    fn set_address(&mut self, index: u32, address: InterfaceAddress, is_present: bool) -> Result<(), LinkError> {
        let what = format!("{} address {address}", if is_present { "add" } else { "remove" });
        self.change_address(index, address, is_present).map_err(failed(&what))
    }

    fn set_nic_promiscuous(&mut self, index: u32, is_promiscuous: bool) -> Result<(), LinkError> {
        let what = failed("change whether a NIC takes frames to any address");
        self.set_flag(index, LinkFlags::Promisc, is_promiscuous).map_err(what)
    }
}

impl KernelLinks {
    fn nics(&mut self) -> Result<BTreeMap<u32, ObservedNic>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
        let answers = self.dump(&RouteNetlinkMessage::GetLink(message))?;
        let nic = |answer: RouteNetlinkMessage| match answer {
            RouteNetlinkMessage::NewLink(link) => Some((link.header.index, nic(&link)?)),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(nic).collect())
    }

    /// Addresses of the node that others can reach, with the devices that have them.
    pub(super) fn addresses(&mut self) -> Result<Vec<(u32, InterfaceAddress)>, NetlinkError> {
        let answers = self.dump(&RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
        let address = |answer: &RouteNetlinkMessage| match answer {
            RouteNetlinkMessage::NewAddress(found)
                if matches!(found.header.scope, AddressScope::Universe | AddressScope::Site) =>
            {
                let address = InterfaceAddress::new(address_of(found)?, found.header.prefix_len)?;
                Some((found.header.index, address))
            }
            _ => None,
        };
        Ok(answers.iter().filter_map(address).collect())
    }

    /// The addresses follow from the numbers of nodes: nothing else has them, and detecting
    /// duplicates would only delay IPv6.
    pub(super) fn change_address(
        &mut self,
        index: u32,
        address: InterfaceAddress,
        is_present: bool,
    ) -> Result<(), NetlinkError> {
        let mut message = AddressMessage::default();
        message.header.family = match address.ip() {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        message.header.prefix_len = address.prefix();
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(address.ip()), AddressAttribute::Address(address.ip())];
        if is_present && address.ip().is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let result = match is_present {
            true => self.execute(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL),
            false => self.execute(RouteNetlinkMessage::DelAddress(message), 0),
        };
        match result {
            Err(error) if is_present && error.is(Errno::EEXIST) => Ok(()),
            Err(error) if !is_present && (error.is(Errno::EADDRNOTAVAIL) || error.is(Errno::ENODEV)) => Ok(()),
            other => other,
        }
    }

    /// The devices of default routes.
    fn default_routes(&mut self) -> Result<BTreeSet<u32>, NetlinkError> {
        let answers = self.dump(&RouteNetlinkMessage::GetRoute(RouteMessage::default()))?;
        let mut devices = BTreeSet::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewRoute(route) = answer else { continue };
            if route.header.destination_prefix_length != 0 || route.header.kind != RouteType::Unicast {
                continue;
            }
            for attribute in &route.attributes {
                match attribute {
                    RouteAttribute::Oif(index) => drop(devices.insert(*index)),
                    RouteAttribute::MultiPath(hops) => devices.extend(hops.iter().map(|hop| hop.interface_index)),
                    _ => {}
                }
            }
        }
        Ok(devices)
    }
}

fn nic(link: &LinkMessage) -> Option<ObservedNic> {
    let flags = link.header.flags;
    let mut nic = ObservedNic {
        name: DeviceName::observed(name(link)?),
        macs: Vec::new(),
        pci: None,
        is_physical: true,
        master: None,
        mtu: mtu(link)?,
        is_up: flags.contains(LinkFlags::Up),
        is_promiscuous: flags.contains(LinkFlags::Promisc),
        has_carrier: flags.contains(LinkFlags::LowerUp),
        addresses: BTreeSet::new(),
        has_default_route: false,
        offloads: ObservedOffloads::default(),
    };
    let mut is_pci = false;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Address(mac) | LinkAttribute::PermAddress(mac) => {
                nic.macs.extend(<[u8; 6]>::try_from(mac.as_slice()));
            }
            LinkAttribute::Controller(index) => nic.master = Some(*index).filter(|index| *index != 0),
            LinkAttribute::LinkInfo(info) => nic.is_physical = is_physical(info),
            LinkAttribute::ParentDevName(name) => nic.pci = Some(name.clone()),
            LinkAttribute::ParentDevBusName(bus) => is_pci = bus == "pci",
            _ => {}
        }
    }
    nic.pci = nic.pci.filter(|_| is_pci);
    Some(nic)
}

/// Drivers of real NICs have no kind; a veth pair stands for a NIC in a network namespace.
fn is_physical(info: &[LinkInfo]) -> bool {
    info.iter().all(|info| match info {
        LinkInfo::Kind(kind) => matches!(kind, InfoKind::Veth),
        _ => true,
    })
}
