//! Overlays: the VXLAN network (VNI and UDP port) of each network, and the labels by which they
//! select nodes. It follows from networks, compiled networks and uplinks alone, so that a restart
//! changes nothing:
//!
//! - a network keeps the VNI that it has been compiled with;
//! - a VNI that a compiled network has is not free, whatever the network requests now;
//! - of several networks that request one, the oldest gets it;
//! - a network that requests none gets the one in its status, or the first that is free, beginning
//!   with the one that follows from its name.
//!
//! Nodes count only where an overlay has more of them than can send to each other one by one.

use super::conflict::Conflict;
use super::objects::{Compiled, Network, Node, Uplink};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::network as message;
use usnet_crds::conditions::reason::{MULTICAST_GROUP_REQUIRED, VNI_TAKEN};
use usnet_crds::network::topology::Overlay;
use usnet_crds::node_selection::label_keys;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{CompiledOverlay, Encapsulation, EngineKind, UdpPort, Vni};

/// Most nodes of an overlay without a multicast group: each sends its broadcasts to all others.
pub const UNICAST_NODES_MAX: usize = 250;

/// The overlays of all networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlays {
    /// By the name of the network; an error where another network has the VNI.
    vnis: BTreeMap<String, Result<Vni, Conflict>>,
    /// Networks that need a multicast group.
    too_large: BTreeMap<String, Conflict>,
    /// The keys of the labels by which overlays select nodes; none while there is no overlay.
    label_keys: Option<BTreeSet<String>>,
}

/// A VXLAN network, and the network that has or requests it.
#[derive(Debug, Clone, Copy)]
struct Claim<'a> {
    name: &'a str,
    engine: EngineKind,
    /// Whether users chose the VNI.
    is_explicit: bool,
}

type Claims<'a> = BTreeMap<(Vni, UdpPort), Vec<Claim<'a>>>;

/// A network with an overlay.
#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    name: &'a str,
    network: &'a Network,
    engine: EngineKind,
    overlay: &'a Overlay,
    /// What it was compiled with.
    held: Option<&'a CompiledOverlay>,
}

impl Overlays {
    /// Of these networks, compiled networks, uplinks and nodes.
    pub fn of(
        networks: &BTreeMap<String, Network>,
        compiled: &BTreeMap<String, Compiled>,
        uplinks: &BTreeMap<String, Uplink>,
        nodes: &BTreeMap<String, Node>,
    ) -> Self {
        let mut requests: Vec<Request<'_>> = networks
            .iter()
            .filter_map(|(name, network)| {
                let (valid, overlay) = overlay(network)?;
                let held = compiled.get(name).and_then(held);
                Some(Request { name, network, engine: valid.engine, overlay, held })
            })
            .collect();
        requests.sort_by(|one, other| one.age().cmp(&other.age()));
        let vnis = resolve(&requests, compiled, networks);
        let too_large = too_large(&requests, &vnis, nodes);
        Self { vnis, too_large, label_keys: all_label_keys(&requests, compiled, uplinks) }
    }

    /// What the network is to be compiled with, if it has an overlay and no other network has its
    /// VNI.
    pub fn compiled(&self, name: &str, overlay: &Overlay) -> Option<CompiledOverlay> {
        let vni = *self.vnis.get(name)?.as_ref().ok()?;
        Some(overlay.compiled(vni))
    }

    /// Why the network cannot have its overlay.
    pub fn conflict(&self, name: &str) -> Option<&Conflict> {
        let taken = self.vnis.get(name).and_then(|vni| vni.as_ref().err());
        taken.or_else(|| self.too_large.get(name))
    }

    /// Whether an overlay has too many nodes.
    pub fn has_too_large(&self) -> bool {
        !self.too_large.is_empty()
    }

    /// The keys of the labels by which overlays select nodes; none while there is no overlay.
    pub const fn label_keys(&self) -> Option<&BTreeSet<String>> {
        self.label_keys.as_ref()
    }

    /// The networks of which the VNI differs, or whether they can have their overlay.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        let names: BTreeSet<&String> = self.vnis.keys().chain(before.vnis.keys()).collect();
        let differs = |name: &&String| {
            self.vnis.get(*name) != before.vnis.get(*name) || self.too_large.get(*name) != before.too_large.get(*name)
        };
        names.into_iter().filter(differs)
    }
}

/// The overlay of a network whose spec is valid.
pub(super) fn overlay(network: &Network) -> Option<(&ValidNetwork, &Overlay)> {
    let valid = network.spec.as_ref().ok()?;
    Some((valid, valid.topology.overlay()?))
}

fn held(compiled: &Compiled) -> Option<&CompiledOverlay> {
    compiled.selection.as_ref()?.overlay.as_ref()
}

impl<'a> Request<'a> {
    fn age(&self) -> (bool, Option<&'a Time>, &'a str) {
        (self.network.created.is_none(), self.network.created.as_ref(), self.name)
    }

    fn claim(&self) -> Claim<'a> {
        Claim { name: self.name, engine: self.engine, is_explicit: self.overlay.vni.is_some() }
    }

    /// Whether nodes send to this one. It may lack the engine.
    fn selects(&self, node: &Node) -> bool {
        let selector = self.network.spec.as_ref().ok().and_then(|valid| valid.nodes.as_ref());
        selector.is_none_or(|selector| selector.matches(&node.labels))
    }

    /// The VNI that it has already and may keep.
    fn kept(&self) -> Option<Vni> {
        let held = self.held.filter(|held| held.port == self.overlay.port)?;
        self.overlay.vni.is_none_or(|vni| vni == held.vni).then_some(held.vni)
    }

    fn remembered(&self) -> Option<Vni> {
        let status = self.network.status.as_ref().and_then(|status| status.overlay);
        self.held.map(|held| held.vni).or(status.map(|status| status.vni))
    }
}

fn resolve(
    requests: &[Request<'_>],
    compiled: &BTreeMap<String, Compiled>,
    networks: &BTreeMap<String, Network>,
) -> BTreeMap<String, Result<Vni, Conflict>> {
    let (mut claims, mut vnis) = (Claims::new(), BTreeMap::new());
    for request in requests {
        if let Some(vni) = request.kept().filter(|vni| holder(&claims, *vni, request).is_none()) {
            claims.entry((vni, request.overlay.port)).or_default().push(request.claim());
            vnis.insert(request.name.to_owned(), Ok(vni));
        }
    }
    // What nodes have until the networks are compiled again.
    for (name, compiled) in compiled.iter().filter(|(name, _)| !vnis.contains_key(*name)) {
        let Some((overlay, selection)) = held(compiled).zip(compiled.selection.as_ref()) else { continue };
        let claim = Claim { name, engine: selection.engine, is_explicit: false };
        claims.entry((overlay.vni, overlay.port)).or_default().push(claim);
    }
    for request in requests {
        if !vnis.contains_key(request.name) {
            let vni = choose(&claims, request, networks);
            if let Ok(vni) = &vni {
                claims.entry((*vni, request.overlay.port)).or_default().push(request.claim());
            }
            vnis.insert(request.name.to_owned(), vni);
        }
    }
    vnis
}

fn choose(claims: &Claims<'_>, request: &Request<'_>, networks: &BTreeMap<String, Network>) -> Result<Vni, Conflict> {
    let message = |vni, holder| message::vni_taken(vni, request.overlay.port, holder);
    if let Some(vni) = request.overlay.vni {
        return match holder(claims, vni, request) {
            Some(holder) => Err(Conflict::taken(VNI_TAKEN, &message(vni, holder), (holder, networks))),
            None => Ok(vni),
        };
    }
    let is_free = |vni: &Vni| holder(claims, *vni, request).is_none();
    if let Some(vni) = request.remembered().filter(is_free) {
        return Ok(vni);
    }
    // Its name is valid, because its spec is.
    let first = request.name.parse().map(|name| Vni::default_for(&name));
    let first = first.map_err(|error| Conflict::new(VNI_TAKEN, error.to_string()))?;
    // There are far more VNIs than networks fit into a cluster.
    let mut candidates = std::iter::successors(Some(first), |vni| Some(vni.next_chosen()));
    candidates.find(is_free).ok_or_else(|| Conflict::new(VNI_TAKEN, message(first, "of others")))
}

/// The other network that has a VNI at the port of the request. Networks of different engines are
/// one segment if users say so.
fn holder<'a>(claims: &Claims<'a>, vni: Vni, request: &Request<'_>) -> Option<&'a str> {
    let own = request.claim();
    let conflicts = |claim: &&Claim<'_>| {
        let is_shared = claim.engine != own.engine && claim.is_explicit && own.is_explicit;
        claim.name != own.name && !is_shared
    };
    claims.get(&(vni, request.overlay.port))?.iter().find(conflicts).map(|claim| claim.name)
}

/// Each node sends to all nodes of the segment, which networks of different engines can share.
fn too_large(
    requests: &[Request<'_>],
    vnis: &BTreeMap<String, Result<Vni, Conflict>>,
    nodes: &BTreeMap<String, Node>,
) -> BTreeMap<String, Conflict> {
    if nodes.len() <= UNICAST_NODES_MAX {
        return BTreeMap::new();
    }
    let mut segments: BTreeMap<(Vni, UdpPort), Vec<&Request<'_>>> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.overlay.multicast_group.is_none()) {
        if let Some(Ok(vni)) = vnis.get(request.name) {
            segments.entry((*vni, request.overlay.port)).or_default().push(request);
        }
    }
    let of_segment = |segment: Vec<&Request<'_>>| {
        let is_member = |node: &&Node| segment.iter().any(|request| request.selects(node));
        let count = nodes.values().filter(is_member).count();
        let message = |request: &&Request<'_>| {
            let text = match request.overlay.encapsulation() {
                Encapsulation::Kernel => message::multicast_group_required(count, UNICAST_NODES_MAX),
                Encapsulation::Engine => message::too_many_nodes(count, UNICAST_NODES_MAX),
            };
            (request.name.to_owned(), Conflict::new(MULTICAST_GROUP_REQUIRED, text))
        };
        (count > UNICAST_NODES_MAX).then(|| segment.iter().map(message).collect::<Vec<_>>())
    };
    segments.into_values().filter_map(of_segment).flatten().collect()
}

/// Those of the selectors of networks, and of the NICs of uplinks that have underlays: without a
/// selector, an overlay is on the nodes of its uplink.
fn all_label_keys(
    requests: &[Request<'_>],
    compiled: &BTreeMap<String, Compiled>,
    uplinks: &BTreeMap<String, Uplink>,
) -> Option<BTreeSet<String>> {
    let requested =
        requests.iter().filter_map(|request| request.network.spec.as_ref().ok()).map(|valid| valid.nodes.as_ref());
    let selections = compiled.values().filter_map(|compiled| compiled.selection.as_ref());
    let held = selections.filter(|selection| selection.overlay.is_some()).map(|selection| selection.nodes.as_ref());
    let mut selectors = requested.chain(held).peekable();
    selectors.peek()?;
    let underlays = uplinks.values().filter_map(|uplink| uplink.spec.as_ref().ok().filter(|it| it.underlay.is_some()));
    let of_nics = underlays.flat_map(|uplink| uplink.nics.iter().filter_map(|nic| nic.nodes.as_ref()));
    Some(selectors.flatten().chain(of_nics).flat_map(label_keys).collect())
}
