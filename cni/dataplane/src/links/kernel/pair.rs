//! The pairs by which an engine has a VXLAN device, or the node itself.

use super::vxlan::of_index;
use super::{KernelLinks, from_netlink};
use crate::isolation::Guard;
use crate::links::LinkError;
use crate::links::owner::LinkOwner;
use crate::links::pair::{EndOwner, Pair, PairEnd};
use crate::model::port::{DeviceName, DeviceRole};
use crate::netlink::NetlinkError;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use nix::errno::Errno;
use usnet_crds::{MacAddress, Mtu};

impl KernelLinks {
    /// Creates what is missing. Nothing passes until both ends are isolated from the node.
    pub(super) fn connect(&mut self, owner: &LinkOwner, vxlan: u32, mtu: Mtu) -> Result<(), LinkError> {
        let what = |error| from_netlink(format!("connect VXLAN device {} by a pair", owner.device()), error);
        let ends = self.ensure_pair(owner, Pair::Overlay, mtu, None).map_err(what)?;
        for end in ends {
            self.configure_end(owner, end, mtu).map_err(what)?;
        }
        let [(inner, inner_index), (engine, _)] = ends.map(|(end, index)| (end.device(&owner.network), index));
        self.isolate([
            Guard::port(engine.as_str()),
            Guard::forwarding(inner.as_str(), vxlan),
            Guard::forwarding(owner.device().as_str(), inner_index),
        ])?;
        ends.iter().try_for_each(|(_, index)| self.set_up(*index, true)).map_err(what)
    }

    /// Both ends, the far one first. That gets a MAC address where one is given.
    pub(super) fn ensure_pair(
        &mut self,
        owner: &LinkOwner,
        pair: Pair,
        mtu: Mtu,
        mac: Option<MacAddress>,
    ) -> Result<[(PairEnd, u32); 2], NetlinkError> {
        if let Some(ends) = self.ends(owner, pair)? {
            return Ok(ends);
        }
        let [far, engine] = pair.ends().map(|end| end.device(&owner.network));
        let mut peer = named(&far, mtu);
        peer.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.octets().to_vec())));
        let peer = InfoData::Veth(InfoVeth::Peer(peer));
        let mut message = named(&engine, mtu);
        message.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
        self.execute(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)?;
        self.ends(owner, pair)?.ok_or_else(|| NetlinkError::Kernel(Errno::ENODEV.into()))
    }

    /// Both ends; `None` if not both exist. One alone has lost the other, which was renamed or
    /// given to another network namespace.
    fn ends(&mut self, owner: &LinkOwner, pair: Pair) -> Result<Option<[(PairEnd, u32); 2]>, NetlinkError> {
        let mut found = Vec::new();
        for end in pair.ends() {
            found.extend(self.own_end(owner, end)?.map(|index| (end, index)));
        }
        match found.as_slice() {
            [far, engine] => Ok(Some([*far, *engine])),
            rest => rest.iter().try_for_each(|(_, index)| self.delete(*index)).map(|()| None),
        }
    }

    /// The end of this name. An interrupted creation has left no alias.
    fn own_end(&mut self, owner: &LinkOwner, end: PairEnd) -> Result<Option<u32>, NetlinkError> {
        let Some(link) = self.link_of(end.device(&owner.network).as_str())? else { return Ok(None) };
        let alias = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfAlias(alias) => Some(alias),
            _ => None,
        });
        let is_own = alias.is_none_or(|alias| alias.parse() == Ok(EndOwner { owner: owner.clone(), end }));
        Ok(is_own.then_some(link.header.index))
    }

    pub(super) fn configure_end(
        &mut self,
        owner: &LinkOwner,
        (end, index): (PairEnd, u32),
        mtu: Mtu,
    ) -> Result<(), NetlinkError> {
        let mut message = of_index(index);
        message.attributes = vec![LinkAttribute::IfAlias(end.alias(owner)), LinkAttribute::Mtu(mtu.get().into())];
        self.execute(RouteNetlinkMessage::SetLink(message), 0)?;
        match end {
            PairEnd::Node => self.set_strict(index),
            PairEnd::Vxlan | PairEnd::Engine | PairEnd::Access => self.set_isolated(index),
        }
        match end {
            PairEnd::Vxlan | PairEnd::Node | PairEnd::Access => self.split_packets(index),
            PairEnd::Engine => Ok(()),
        }
    }

    /// Whether the kernel takes merged packets apart before it sends them over a device.
    pub(super) fn splits_packets(&mut self, index: u32) -> Result<bool, NetlinkError> {
        Ok(self.active_offloads(index)?.is_empty())
    }

    fn split_packets(&mut self, index: u32) -> Result<(), NetlinkError> {
        let changes: Vec<_> = self.active_offloads(index)?.into_iter().map(|offload| (offload, false)).collect();
        if changes.is_empty() { Ok(()) } else { self.ethtool.set_features(index, &changes) }
    }

    /// Without the family `ethtool` offloads cannot be changed, and merged packets are lost.
    fn active_offloads(&mut self, index: u32) -> Result<Vec<&'static str>, NetlinkError> {
        match self.ethtool.features(index) {
            Ok(features) => {
                let off = DeviceRole::OverlayEndpoint.offloads_off().iter().copied();
                Ok(off.filter(|offload| features.active.contains(*offload)).collect())
            }
            Err(error) if error.is(Errno::ENOENT) || error.is(Errno::EOPNOTSUPP) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

fn named(device: &DeviceName, mtu: Mtu) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(device.to_string()), LinkAttribute::Mtu(mtu.get().into())];
    message
}
