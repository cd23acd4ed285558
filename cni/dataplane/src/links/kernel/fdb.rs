//! Peers: entries of a device's forwarding database for the MAC address 00:00:00:00:00:00, to
//! which broadcasts and frames to unknown addresses are sent.

use super::KernelLinks;
use crate::netlink::NetlinkError;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

const ALL: [u8; 6] = [0; 6];

impl KernelLinks {
    /// Peers are added before others are removed, so that no frame is lost on the way. One may be
    /// there or be gone already.
    pub(super) fn change_peers(
        &mut self,
        index: u32,
        add: &BTreeSet<IpAddr>,
        remove: &BTreeSet<IpAddr>,
    ) -> Result<(), NetlinkError> {
        for peer in add {
            let message = RouteNetlinkMessage::NewNeighbour(entry(index, *peer));
            accept(Errno::EEXIST, self.execute(message, NLM_F_CREATE | NLM_F_APPEND))?;
        }
        for peer in remove {
            let message = RouteNetlinkMessage::DelNeighbour(entry(index, *peer));
            accept(Errno::ENOENT, self.execute(message, 0))?;
        }
        Ok(())
    }

    /// The peers of these devices.
    pub(super) fn peers(&mut self, devices: &BTreeSet<u32>) -> Result<BTreeMap<u32, BTreeSet<IpAddr>>, NetlinkError> {
        let mut peers: BTreeMap<u32, BTreeSet<IpAddr>> = BTreeMap::new();
        if devices.is_empty() {
            return Ok(peers);
        }
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        for answer in self.dump(&RouteNetlinkMessage::GetNeighbour(message))? {
            let RouteNetlinkMessage::NewNeighbour(found) = answer else { continue };
            if !devices.contains(&found.header.ifindex) || !found.header.flags.contains(NeighbourFlags::Own) {
                continue;
            }
            if let Some(peer) = peer(&found) {
                peers.entry(found.header.ifindex).or_default().insert(peer);
            }
        }
        Ok(peers)
    }
}

fn entry(index: u32, peer: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.header.flags = NeighbourFlags::Own;
    message.attributes = vec![
        NeighbourAttribute::LinkLayerAddress(ALL.to_vec()),
        NeighbourAttribute::Destination(NeighbourAddress::from(peer)),
    ];
    message
}

/// The peer of an entry for all addresses.
fn peer(found: &NeighbourMessage) -> Option<IpAddr> {
    let is_for_all = |attribute: &NeighbourAttribute| matches!(attribute, NeighbourAttribute::LinkLayerAddress(address) if *address == ALL);
    found.attributes.iter().any(is_for_all).then_some(())?;
    found.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => Some((*address).into()),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => Some((*address).into()),
        NeighbourAttribute::Destination(NeighbourAddress::Other(bytes)) => address_of(bytes),
        _ => None,
    })
}

/// An address of either family: the family of the message is that of bridges.
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.ok().or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

fn accept(errno: Errno, result: Result<(), NetlinkError>) -> Result<(), NetlinkError> {
    match result {
        Err(error) if error.is(errno) => Ok(()),
        other => other,
    }
}
