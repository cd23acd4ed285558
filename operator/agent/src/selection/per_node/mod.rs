//! Adds to networks what differs from node to node: the peers of overlays, and the node's part of
//! address ranges. Pure. There may be many such networks and many nodes: what did not change is not
//! computed again, and stays the same in memory.

mod fixed_addresses;
mod missing;
mod peers;
mod segments;
#[cfg(test)]
mod tests;

use crate::model::input::{Compiled, Input, PerNode};
use crate::model::spec::RefusedNetwork;
use fixed_addresses::FixedAddresses;
use missing::Missing;
use peers::{Members, Peers, PeersOfSelectors};
use segments::{Segment, segments, underlay};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::compiled_network::node_ranges::node_ranges;
use usnet_crds::conditions::message::node_access::exhausted as node_access_exhausted;
use usnet_crds::conditions::reason::{NODE_ACCESS_EXHAUSTED, NODE_PREFIX_EXHAUSTED};
use usnet_crds::{CompiledOverlay, NetworkName, NodeNetwork, NodeOverlay, NodeUnderlay};

/// The networks that differ from node to node, in the form of this node.
#[derive(Debug, Clone, Default)]
pub struct PerNodeNetworks {
    peers: PeersOfSelectors,
    networks: BTreeMap<NetworkName, Known>,
}

/// A network, and what it was computed from.
#[derive(Debug, Clone)]
struct Known {
    compiled: Arc<Compiled>,
    number: u32,
    joined: Option<Result<Joined, Missing>>,
    fixed_by_others: BTreeSet<IpAddr>,
    network: Result<Arc<NodeNetwork>, Unsuitable>,
}

/// This node in the segment of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Joined {
    peers: Peers,
    /// The underlay in which the engine has its address; none if the node's own address is used.
    underlay: Option<NodeUnderlay>,
}

/// Why a node cannot have a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsuitable {
    reason: &'static str,
    message: String,
    /// The network without its overlay, and the overlay, if only its peers are unknown.
    without_peers: Option<(Arc<NodeNetwork>, CompiledOverlay)>,
    /// Whether what is missing is expected from the API server soon.
    is_awaited: bool,
}

impl PerNodeNetworks {
    /// Computes all networks of an input.
    pub fn of(input: &Input) -> Self {
        let mut networks = Self::default();
        networks.update(input);
        networks
    }

    /// Updates the networks after a change of the input.
    pub(super) fn update(&mut self, input: &Input) {
        self.peers.update(input.nodes.as_ref(), input.is_alone);
        self.networks.retain(|name, _| input.networks.contains_key(name));
        let (segments, fixed) = (segments(input), FixedAddresses::of(input));
        for (name, compiled) in &input.networks {
            let PerNode { overlay, node_prefix } = &compiled.per_node;
            let access = compiled.network.node_access.as_ref();
            if overlay.is_none() && node_prefix.is_none() && access.is_none_or(|access| !access.per_node) {
                self.networks.remove(name);
                continue;
            }
            let joined = overlay.as_ref().map(|overlay| self.join(input, overlay, &segments));
            let (number, fixed_by_others) = (input.number, fixed.of_others(compiled));
            let is_same = |known: &Known| {
                Arc::ptr_eq(&known.compiled, compiled)
                    && (known.number, &known.joined, &known.fixed_by_others) == (number, &joined, &fixed_by_others)
            };
            if !self.networks.get(name).is_some_and(is_same) {
                let network = on_node(compiled, number, joined.as_ref(), &fixed_by_others);
                let entry = Known { compiled: Arc::clone(compiled), number, joined, fixed_by_others, network };
                self.networks.insert(name.clone(), entry);
            }
        }
    }

    fn join(
        &mut self,
        input: &Input,
        overlay: &CompiledOverlay,
        segments: &BTreeMap<Segment, Members<'_>>,
    ) -> Result<Joined, Missing> {
        let segment = Segment::of(input, overlay)?;
        let peers = match overlay.multicast_group {
            Some(_) => Peers { local: self.peers.local(segment.addresses)?, others: Arc::default() },
            None => self.peers.of(segments.get(&segment).unwrap_or(&Members::All), segment.addresses)?,
        };
        Ok(Joined { peers, underlay: underlay(input, overlay)? })
    }

    /// Whether the node cannot have the network before it knows more about the nodes.
    pub(super) fn awaits_nodes(&self, compiled: &Compiled, previous: Option<&Arc<NodeNetwork>>) -> bool {
        self.network(compiled, previous).is_err_and(|unsuitable| unsuitable.is_awaited)
    }

    /// Returns the network in the form of this node. While its peers are unknown it keeps the
    /// previous ones: a new agent reads the nodes after the networks.
    pub fn network(
        &self,
        compiled: &Compiled,
        previous: Option<&Arc<NodeNetwork>>,
    ) -> Result<Arc<NodeNetwork>, &Unsuitable> {
        let Some(entry) = self.networks.get(&compiled.network.name) else { return Ok(Arc::clone(&compiled.network)) };
        entry
            .network
            .as_ref()
            .map(Arc::clone)
            .or_else(|unsuitable| unsuitable.with_peers_of(previous).ok_or(unsuitable))
    }
}

impl Unsuitable {
    fn with_peers_of(&self, previous: Option<&Arc<NodeNetwork>>) -> Option<Arc<NodeNetwork>> {
        let ((network, overlay), previous) = self.without_peers.as_ref().zip(previous)?;
        let known = previous.overlay.as_ref().filter(|known| {
            let uplink = known.underlay.as_ref().map(|underlay| &underlay.uplink);
            (known.vni, known.port, known.multicast_group) == (overlay.vni, overlay.port, overlay.multicast_group)
                && (known.encapsulation, uplink) == (overlay.encapsulation, overlay.underlay.as_ref())
                && overlay.ip_family.contains(known.local)
        })?;
        let network = NodeNetwork { overlay: Some(known.clone()), ..NodeNetwork::clone(network) };
        Some(if network == **previous { Arc::clone(previous) } else { Arc::new(network) })
    }

    /// Returns the network as one that this node cannot have.
    pub(super) fn refused(&self, compiled: &Compiled) -> RefusedNetwork {
        let NodeNetwork { name, generation, engine, .. } = compiled.network.as_ref();
        RefusedNetwork {
            name: name.clone(),
            generation: *generation,
            engine: Some(*engine),
            reason: self.reason.to_owned(),
            message: self.message.clone(),
        }
    }
}

fn on_node(
    compiled: &Compiled,
    number: u32,
    joined: Option<&Result<Joined, Missing>>,
    fixed_by_others: &BTreeSet<IpAddr>,
) -> Result<Arc<NodeNetwork>, Unsuitable> {
    let mut network = NodeNetwork::clone(&compiled.network);
    if let (Some(prefix), Some(ipam)) = (&compiled.per_node.node_prefix, &network.ipam) {
        let fixed = fixed_addresses::of_network(&network).chain(fixed_by_others.iter().copied());
        let own = node_ranges(ipam, prefix, number, fixed).map_err(|error| Unsuitable {
            reason: NODE_PREFIX_EXHAUSTED,
            message: error.to_string(),
            without_peers: None,
            is_awaited: false,
        })?;
        network.ipam = Some(own);
    }
    if let Some(access) = &network.node_access {
        let own = access.of_node(number).ok_or_else(|| Unsuitable {
            reason: NODE_ACCESS_EXHAUSTED,
            message: node_access_exhausted(&access.addresses, number),
            without_peers: None,
            is_awaited: false,
        })?;
        network.node_access = Some(own);
    }
    match (compiled.per_node.overlay.clone(), joined) {
        (Some(CompiledOverlay { vni, port, encapsulation, multicast_group, .. }), Some(Ok(joined))) => {
            let Joined { peers: Peers { local, others: peers }, underlay } = joined.clone();
            let overlay = NodeOverlay { vni, port, encapsulation, underlay, local, multicast_group, peers };
            network.overlay = Some(overlay);
        }
        (Some(overlay), Some(Err(missing))) => {
            return Err(Unsuitable {
                reason: missing.reason,
                message: missing.message.clone().into_owned(),
                without_peers: Some((Arc::new(network), overlay)),
                is_awaited: missing.is_awaited,
            });
        }
        (None, _) | (_, None) => {}
    }
    Ok(Arc::new(network))
}
