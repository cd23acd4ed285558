//! Reading the NICs of the node, and changing one.

use super::observe::{address_of, has_net_admin, mtu, name};
use super::{KernelLinks, failed};
use crate::links::LinkError;
use crate::links::nics::{Nics, ObservedNic, ObservedNics, ObservedOffloads, ReceiveOffload};
use crate::model::port::DeviceName;
use crate::netlink::NetlinkError;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage, LinkXdp, XdpAttached,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
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

    fn receive_queues(&mut self, index: u32) -> Result<u32, LinkError> {
        match self.ethtool.receive_queues(index) {
            Ok(queues) => Ok(queues.max(1)),
            Err(error) if [Errno::ENOENT, Errno::EOPNOTSUPP, Errno::ENODEV].iter().any(|errno| error.is(*errno)) => {
                Ok(1)
            }
            Err(error) => Err(failed("read the queues of a NIC")(error)),
        }
    }

    fn remove_program(&mut self, index: u32) -> Result<(), LinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        // Instead of a program.
        message.attributes = vec![LinkAttribute::Xdp(vec![LinkXdp::Fd(-1)])];
        let what = failed("remove the XDP program of a NIC");
        self.execute(RouteNetlinkMessage::SetLink(message), 0).map_err(what)
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

    fn rename_nic(&mut self, index: u32, name: &str) -> Result<(), LinkError> {
        let what = format!("rename a NIC to {name}");
        // A kernel before 6.5 renames no device that is up.
        self.set_up(index, false).and_then(|()| self.set_name(index, name)).map_err(failed(&what))
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
        lower: None,
        mtu: mtu(link)?,
        is_up: flags.contains(LinkFlags::Up),
        is_promiscuous: flags.contains(LinkFlags::Promisc),
        has_carrier: flags.contains(LinkFlags::LowerUp),
        addresses: BTreeSet::new(),
        has_default_route: false,
        offloads: ObservedOffloads::default(),
        queues: 1,
        has_program: false,
        numa_node: None,
    };
    let (mut parent, mut bus, mut is_elsewhere) = (None, None, false);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Address(mac) | LinkAttribute::PermAddress(mac) => {
                nic.macs.extend(<[u8; 6]>::try_from(mac.as_slice()));
            }
            LinkAttribute::Controller(index) => nic.master = Some(*index).filter(|index| *index != 0),
            LinkAttribute::Link(index) => nic.lower = Some(*index),
            LinkAttribute::LinkNetNsId(_) => is_elsewhere = true,
            LinkAttribute::LinkInfo(info) => nic.is_physical = is_physical(info),
            LinkAttribute::Xdp(parts) => nic.has_program = parts.iter().any(is_attached),
            LinkAttribute::ParentDevName(name) => parent = Some(name.as_str()),
            LinkAttribute::ParentDevBusName(name) => bus = Some(name.as_str()),
            _ => {}
        }
    }
    // Then it is the index of a device in another network namespace.
    nic.lower = nic.lower.filter(|_| !is_elsewhere);
    let sysfs = Path::new("/sys");
    nic.pci = parent.zip(bus).and_then(|(name, bus)| pci_address(sysfs, name, bus));
    nic.numa_node = nic.pci.as_deref().and_then(|address| numa_node(sysfs, address));
    Some(nic)
}

fn is_attached(part: &LinkXdp) -> bool {
    matches!(part, LinkXdp::Attached(how) if *how != XdpAttached::None)
}

/// The NUMA node of a PCI device; the kernel has -1 for none.
fn numa_node(sysfs: &Path, address: &str) -> Option<u32> {
    let file = sysfs.join("bus/pci/devices").join(address).join("numa_node");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The PCI device of a device on a bus. A virtio NIC is on a bus of its own, below its PCI device.
fn pci_address(sysfs: &Path, name: &str, bus: &str) -> Option<String> {
    match bus {
        "pci" => Some(name.to_owned()),
        "virtio" => {
            let device = fs::canonicalize(sysfs.join("bus/virtio/devices").join(name)).ok()?;
            let parent = device.parent()?;
            let is_pci = fs::canonicalize(parent.join("subsystem")).is_ok_and(|folder| folder.ends_with("bus/pci"));
            is_pci.then(|| Some(parent.file_name()?.to_str()?.to_owned())).flatten()
        }
        _ => None,
    }
}

/// Drivers of real NICs have no kind; a veth pair stands for a NIC in a network namespace.
fn is_physical(info: &[LinkInfo]) -> bool {
    info.iter().all(|info| match info {
        LinkInfo::Kind(kind) => matches!(kind, InfoKind::Veth),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_virtio_nic_has_the_address_of_the_pci_device_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let device = root.join("devices/pci0000:00/0000:01:00.0");
        let other = root.join("devices/platform/soc");
        for path in
            [device.join("virtio3"), other.join("virtio4"), root.join("bus/virtio/devices"), root.join("bus/pci")]
        {
            fs::create_dir_all(path).unwrap();
        }
        symlink(root.join("bus/pci"), device.join("subsystem")).unwrap();
        symlink(device.join("virtio3"), root.join("bus/virtio/devices/virtio3")).unwrap();
        symlink(other.join("virtio4"), root.join("bus/virtio/devices/virtio4")).unwrap();
        let address = |name, bus| pci_address(root, name, bus);
        assert_eq!(address("virtio3", "virtio").as_deref(), Some("0000:01:00.0"));
        assert_eq!(address("0000:02:00.0", "pci").as_deref(), Some("0000:02:00.0"));
        let without = [("virtio4", "virtio"), ("virtio5", "virtio"), ("1-1:1.0", "usb")];
        assert_eq!(without.map(|(name, bus)| address(name, bus)), [None, None, None]);
    }
}
