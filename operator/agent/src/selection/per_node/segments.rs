//! The segments of overlays, and the nodes of each. Networks of different engines with the same VNI
//! form one segment if they run between the same addresses.

use super::missing::Missing;
use super::peers::{Addresses, Members};
use crate::model::input::{Compiled, Input};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use usnet_crds::uplink::underlay::UplinkUnderlay;
use usnet_crds::{CompiledOverlay, NodeUnderlay, UdpPort, UplinkName, Vni};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    vni: Vni,
    port: UdpPort,
    pub(super) addresses: Addresses,
    multicast_group: Option<IpAddr>,
}

impl Segment {
    /// Returns the segment of an overlay, or what is missing.
    pub(super) fn of(input: &Input, overlay: &CompiledOverlay) -> Result<Self, Missing> {
        let CompiledOverlay { vni, port, multicast_group, .. } = *overlay;
        let addresses = match &overlay.underlay {
            None => Addresses::OfNode(overlay.ip_family),
            Some(uplink) => Addresses::In(underlay_of(input, uplink)?.subnet),
        };
        Ok(Self { vni, port, addresses, multicast_group })
    }
}

/// Returns the underlay in which the engine has its address; none if the node's own address is
/// used.
pub(super) fn underlay(input: &Input, overlay: &CompiledOverlay) -> Result<Option<NodeUnderlay>, Missing> {
    let Some(uplink) = &overlay.underlay else { return Ok(None) };
    let UplinkUnderlay { subnet, vlan } = *underlay_of(input, uplink)?;
    Ok(Some(NodeUnderlay { uplink: uplink.clone(), vlan, prefix_length: subnet.prefix_len() }))
}

fn underlay_of<'a>(input: &'a Input, uplink: &UplinkName) -> Result<&'a UplinkUnderlay, Missing> {
    let uplinks = input.uplinks.as_ref().ok_or_else(Missing::uplinks)?;
    let found = uplinks.get(uplink).ok_or_else(|| Missing::uplink(uplink))?;
    found.underlay.as_ref().ok_or_else(|| Missing::underlay(uplink))
}

pub(super) fn segments(input: &Input) -> BTreeMap<Segment, Members<'_>> {
    let mut segments: BTreeMap<Segment, Members<'_>> = BTreeMap::new();
    for compiled in input.networks.values() {
        let Some(overlay) = &compiled.per_node.overlay else { continue };
        let Ok(segment) = Segment::of(input, overlay) else { continue };
        let members = members(input, compiled);
        match segments.entry(segment) {
            Entry::Occupied(mut segment) => segment.get_mut().add(members),
            Entry::Vacant(segment) => drop(segment.insert(members)),
        }
    }
    segments
}

/// The nodes of a network. Without a selector, these are the nodes of its uplink.
fn members<'a>(input: &'a Input, compiled: &'a Compiled) -> Members<'a> {
    let uplink = compiled.uplink_name().and_then(|uplink| input.uplinks.as_ref()?.get(uplink));
    match (&compiled.selector, uplink) {
        (None, Some(uplink)) => Members::of_any(uplink.nics.iter().map(|nic| nic.nodes.as_ref())),
        (selector, _) => Members::of(selector.as_ref()),
    }
}
