//! The addresses in `spec.attachments`, each of which belongs to one pod. Nodes of another network
//! in the same segment assign addresses from the same ranges, and must not assign these a second
//! time.

use crate::model::input::{Compiled, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::{FixedAttachment, NetworkName, NodeNetwork, UdpPort, Vni};

/// The fixed addresses of all networks with an overlay, by VNI and UDP port.
#[derive(Debug, Default)]
pub(super) struct FixedAddresses<'a>(BTreeMap<(Vni, UdpPort), Vec<(&'a NetworkName, IpAddr)>>);

impl<'a> FixedAddresses<'a> {
    pub(super) fn of(input: &'a Input) -> Self {
        let mut all = Self::default();
        for compiled in input.networks.values() {
            let Some(overlay) = &compiled.per_node.overlay else { continue };
            let addresses = of_network(&compiled.network).map(|address| (&compiled.network.name, address));
            all.0.entry((overlay.vni, overlay.port)).or_default().extend(addresses);
        }
        all
    }

    /// The fixed addresses of the other networks in the segment of this one.
    pub(super) fn of_others(&self, compiled: &Compiled) -> BTreeSet<IpAddr> {
        let segment = compiled.per_node.overlay.as_ref().and_then(|overlay| self.0.get(&(overlay.vni, overlay.port)));
        let others = segment.into_iter().flatten().filter(|(name, _)| **name != compiled.network.name);
        others.map(|(_, address)| *address).collect()
    }
}

/// The fixed addresses of one network.
pub(super) fn of_network(network: &NodeNetwork) -> impl Iterator<Item = IpAddr> {
    network.attachments.iter().flat_map(FixedAttachment::addresses)
}
