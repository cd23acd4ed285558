//! What a network has on this node alone: the peers of its overlay, and the node's part of its
//! ranges of addresses. Pure. Networks with both may be many, and so may nodes: what did not change
//! is not computed again, and stays the same in memory.

mod fixed_addresses;
mod peers;
#[cfg(test)]
mod tests;

use crate::agent::model::input::{Compiled, Input, PerNode};
use crate::agent::model::spec::RefusedNetwork;
use fixed_addresses::FixedAddresses;
use peers::{Members, Peers, PeersOfSelectors};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::compiled_network::node_ranges::node_ranges;
use usnet_crds::conditions::message::node::{NODE_NOT_IN_SLICE, SLICES_UNKNOWN};
use usnet_crds::conditions::reason::{NODE_PREFIX_EXHAUSTED, PEERS_UNKNOWN};
use usnet_crds::{CompiledOverlay, NetworkName, NodeNetwork, NodeOverlay};

/// The networks that differ from node to node, as this node has them.
#[derive(Debug, Clone, Default)]
pub struct PerNodeNetworks {
    peers: PeersOfSelectors,
    networks: BTreeMap<NetworkName, Known>,
}

/// A network, and what it follows from.
#[derive(Debug, Clone)]
struct Known {
    compiled: Arc<Compiled>,
    number: u32,
    peers: Option<Result<Peers, &'static str>>,
    fixed_by_others: BTreeSet<IpAddr>,
    network: Result<Arc<NodeNetwork>, Unsuitable>,
}

/// Why a node cannot have a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsuitable {
    reason: &'static str,
    message: String,
    /// All but the peers, while only these are not known.
    without_peers: Option<(Arc<NodeNetwork>, CompiledOverlay)>,
}

impl PerNodeNetworks {
    /// All networks of an input.
    pub fn of(input: &Input) -> Self {
        let mut networks = Self::default();
        networks.update(input);
        networks
    }

    /// Follows a change of the input.
    pub(super) fn update(&mut self, input: &Input) {
        self.peers.update(input.nodes.as_ref(), input.is_alone);
        self.networks.retain(|name, _| input.networks.contains_key(name));
        let (segments, fixed) = (segments(input), FixedAddresses::of(input));
        for (name, compiled) in &input.networks {
            let PerNode { overlay, node_prefix } = &compiled.per_node;
            if overlay.is_none() && node_prefix.is_none() {
                self.networks.remove(name);
                continue;
            }
            let peers = overlay.map(|overlay| match overlay.multicast_group {
                Some(_) => self.peers.local(overlay.ip_family).map(|local| Peers { local, others: Arc::default() }),
                None => self.peers.of(segments.get(&overlay).unwrap_or(&Members::All), overlay.ip_family),
            });
            let (number, fixed_by_others) = (input.number, fixed.of_others(compiled));
            let is_same = |known: &Known| {
                Arc::ptr_eq(&known.compiled, compiled)
                    && (known.number, &known.peers, &known.fixed_by_others) == (number, &peers, &fixed_by_others)
            };
            if !self.networks.get(name).is_some_and(is_same) {
                let network = on_node(compiled, number, peers.as_ref(), &fixed_by_others);
                let entry = Known { compiled: Arc::clone(compiled), number, peers, fixed_by_others, network };
                self.networks.insert(name.clone(), entry);
            }
        }
    }

    /// Whether the node cannot have the network before it knows more of the nodes.
    pub(super) fn awaits_nodes(&self, compiled: &Compiled, previous: Option<&Arc<NodeNetwork>>) -> bool {
        self.network(compiled, previous).is_err_and(Unsuitable::awaits_nodes)
    }

    /// The network as this node has it. While its peers are not known it keeps those that it had:
    /// a new agent reads them after it has read the networks.
    pub(crate) fn network(
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
    /// Whether addresses are missing that come by themselves.
    fn awaits_nodes(&self) -> bool {
        [SLICES_UNKNOWN, NODE_NOT_IN_SLICE].contains(&self.message.as_str())
    }

    fn with_peers_of(&self, previous: Option<&Arc<NodeNetwork>>) -> Option<Arc<NodeNetwork>> {
        let ((network, overlay), previous) = self.without_peers.as_ref().zip(previous)?;
        let known = previous.overlay.as_ref().filter(|known| {
            (known.vni, known.port, known.multicast_group) == (overlay.vni, overlay.port, overlay.multicast_group)
                && overlay.ip_family.contains(known.local)
        })?;
        let network = NodeNetwork { overlay: Some(known.clone()), ..NodeNetwork::clone(network) };
        Some(if network == **previous { Arc::clone(previous) } else { Arc::new(network) })
    }

    /// The network as one that this node cannot have.
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

/// The nodes of each segment. Networks of different engines with one VNI are one segment.
fn segments(input: &Input) -> BTreeMap<CompiledOverlay, Members<'_>> {
    let mut segments: BTreeMap<CompiledOverlay, Members<'_>> = BTreeMap::new();
    for compiled in input.networks.values() {
        let Some(overlay) = compiled.per_node.overlay else { continue };
        let members = Members::of(compiled.selector.as_ref());
        match segments.entry(overlay) {
            Entry::Occupied(mut segment) => segment.get_mut().add(members),
            Entry::Vacant(segment) => drop(segment.insert(members)),
        }
    }
    segments
}

fn on_node(
    compiled: &Compiled,
    number: u32,
    peers: Option<&Result<Peers, &'static str>>,
    fixed_by_others: &BTreeSet<IpAddr>,
) -> Result<Arc<NodeNetwork>, Unsuitable> {
    let mut network = NodeNetwork::clone(&compiled.network);
    if let (Some(prefix), Some(ipam)) = (&compiled.per_node.node_prefix, &network.ipam) {
        let fixed = fixed_addresses::of_network(&network).chain(fixed_by_others.iter().copied());
        let own = node_ranges(ipam, prefix, number, fixed).map_err(|error| Unsuitable {
            reason: NODE_PREFIX_EXHAUSTED,
            message: error.to_string(),
            without_peers: None,
        })?;
        network.ipam = Some(own);
    }
    match (compiled.per_node.overlay, peers) {
        (Some(CompiledOverlay { vni, port, multicast_group, .. }), Some(Ok(peers))) => {
            let Peers { local, others } = peers.clone();
            network.overlay = Some(NodeOverlay { vni, port, local, multicast_group, peers: others });
        }
        (Some(overlay), Some(Err(message))) => {
            return Err(Unsuitable {
                reason: PEERS_UNKNOWN,
                message: (*message).to_owned(),
                without_peers: Some((Arc::new(network), overlay)),
            });
        }
        (None, _) | (_, None) => {}
    }
    Ok(Arc::new(network))
}
