//! Overlays: the VXLAN network (VNI and UDP port) of each network, and the labels by which they
//! select nodes. A network that requests no VNI gets the one in its status, or the first that is
//! free, beginning with the one that follows from its name.
//!
//! Nodes count only where an overlay has more of them than can send to each other one by one.

use super::arbiter::{Arbiter, Claim, Resource};
use super::conflict::{Conflict, Conflicts, changed_keys};
use crate::cache::objects::{Compiled, Network, Node, Uplink};
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
    /// The VNIs by network; none where another network has the VNI.
    vnis: BTreeMap<String, Vni>,
    /// Networks whose VNI another one has, or that need a multicast group.
    conflicts: Conflicts,
    /// The keys of the labels by which overlays select nodes; none while there is no overlay.
    label_keys: Option<BTreeSet<String>>,
}

/// A VXLAN network.
#[derive(Debug, Clone, Copy)]
struct Segment {
    vni: Vni,
    port: UdpPort,
    engine: EngineKind,
    /// Whether users chose the VNI.
    is_explicit: bool,
}

impl Resource for Segment {
    type Key = (Vni, UdpPort);

    const TAKEN: &'static str = VNI_TAKEN;

    fn key(&self) -> Self::Key {
        (self.vni, self.port)
    }

    /// Networks of different engines are one segment if users say so.
    fn overlaps(&self, other: &Self) -> bool {
        self.engine == other.engine || !self.is_explicit || !other.is_explicit
    }

    fn taken(&self, _: &str, claim: &Claim<'_, Self>) -> String {
        message::vni_taken(self.vni, self.port, claim.network)
    }
}

/// A network with an overlay.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    name: &'a str,
    network: &'a Network,
    engine: EngineKind,
    overlay: &'a Overlay,
    /// What the network was compiled with.
    held: Option<&'a CompiledOverlay>,
}

impl Overlays {
    /// The overlays of these networks and compiled networks.
    pub fn of(
        networks: &BTreeMap<String, Network>,
        compiled: &BTreeMap<String, Compiled>,
        uplinks: &BTreeMap<String, Uplink>,
        nodes: &BTreeMap<String, Node>,
    ) -> Self {
        let members = networks.iter().filter_map(|(name, network)| Member::of(name, network, compiled.get(name)));
        let mut members: Vec<Member<'_>> = members.collect();
        members.sort_by(|one, other| one.network.age(one.name).cmp(&other.network.age(other.name)));
        let (vnis, mut conflicts) = assign(&members, compiled, networks);
        too_large(&members, &vnis, nodes).into_iter().for_each(|(name, conflict)| conflicts.insert(name, conflict));
        Self { vnis, conflicts, label_keys: all_label_keys(&members, compiled, uplinks) }
    }

    /// What the network is to be compiled with, if it has an overlay and no other network has its
    /// VNI.
    pub fn compiled(&self, name: &str, overlay: &Overlay) -> Option<CompiledOverlay> {
        Some(overlay.compiled(*self.vnis.get(name)?))
    }

    /// Why the network cannot have its overlay.
    pub fn conflict(&self, name: &str) -> Option<&Conflict> {
        self.conflicts.conflict(name)
    }

    /// Whether an overlay has too many nodes.
    pub fn has_too_large(&self) -> bool {
        self.conflicts.has_reason(MULTICAST_GROUP_REQUIRED)
    }

    /// The keys of the labels by which overlays select nodes; none while there is no overlay.
    pub const fn label_keys(&self) -> Option<&BTreeSet<String>> {
        self.label_keys.as_ref()
    }

    /// The networks of which the VNI differs, or whether they can have their overlay.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        let mut names: BTreeSet<&String> = changed_keys(&self.vnis, &before.vnis).collect();
        names.extend(self.conflicts.changed_since(&before.conflicts));
        names.into_iter()
    }
}

/// The overlay of a network whose spec is valid.
pub(crate) fn overlay(network: &Network) -> Option<(&ValidNetwork, &Overlay)> {
    let valid = network.spec.as_ref().ok()?;
    Some((valid, valid.topology.overlay()?))
}

fn held(compiled: &Compiled) -> Option<&CompiledOverlay> {
    compiled.selection.as_ref()?.overlay.as_ref()
}

impl<'a> Member<'a> {
    fn of(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Self> {
        let (valid, overlay) = overlay(network)?;
        Some(Self { name, network, engine: valid.engine, overlay, held: compiled.and_then(held) })
    }

    fn segment(&self, vni: Vni) -> Segment {
        let (engine, port) = (self.engine, self.overlay.port);
        Segment { vni, port, engine, is_explicit: self.overlay.vni.is_some() }
    }

    /// Whether the other nodes of the overlay send to this node, which may lack the engine.
    fn selects(&self, node: &Node) -> bool {
        let selector = self.network.spec.as_ref().ok().and_then(|valid| valid.nodes.as_ref());
        selector.is_none_or(|selector| selector.matches(&node.labels))
    }

    /// The VNI that the network has already and may keep.
    fn kept(&self) -> Option<Vni> {
        let held = self.held.filter(|held| held.port == self.overlay.port)?;
        self.overlay.vni.is_none_or(|vni| vni == held.vni).then_some(held.vni)
    }

    fn remembered(&self) -> Option<Vni> {
        let status = self.network.status.as_ref().and_then(|status| status.overlay);
        self.held.map(|held| held.vni).or(status.map(|status| status.vni))
    }
}

fn assign(
    members: &[Member<'_>],
    compiled: &BTreeMap<String, Compiled>,
    networks: &BTreeMap<String, Network>,
) -> (BTreeMap<String, Vni>, Conflicts) {
    let (mut arbiter, mut vnis, mut conflicts) = (Arbiter::new(networks), BTreeMap::new(), Conflicts::default());
    for member in members {
        if let Some(vni) = member.kept().filter(|vni| arbiter.request(member.name, &[member.segment(*vni)]).is_ok()) {
            vnis.insert(member.name.to_owned(), vni);
        }
    }
    // What nodes have until the networks are compiled again.
    for (network, compiled) in compiled.iter().filter(|(name, _)| !vnis.contains_key(*name)) {
        let Some((overlay, selection)) = held(compiled).zip(compiled.selection.as_ref()) else { continue };
        let (vni, port, engine) = (overlay.vni, overlay.port, selection.engine);
        arbiter.claim(Claim { network, resource: Segment { vni, port, engine, is_explicit: false } });
    }
    for member in members {
        if !vnis.contains_key(member.name) {
            match choose(&mut arbiter, member) {
                Ok(vni) => drop(vnis.insert(member.name.to_owned(), vni)),
                Err(conflict) => conflicts.insert(member.name, conflict),
            }
        }
    }
    (vnis, conflicts)
}

fn choose<'a>(arbiter: &mut Arbiter<'a, Segment>, member: &Member<'a>) -> Result<Vni, Conflict> {
    let mut request = |vni| arbiter.request(member.name, &[member.segment(vni)]).map(|()| vni);
    if let Some(vni) = member.overlay.vni {
        return request(vni);
    }
    if let Some(Ok(vni)) = member.remembered().map(&mut request) {
        return Ok(vni);
    }
    // Its name is valid, because its spec is.
    let first = member.name.parse().map(|name| Vni::default_for(&name));
    let first = first.map_err(|error| Conflict::new(VNI_TAKEN, error.to_string()))?;
    // There are far more VNIs than networks fit into a cluster.
    let mut candidates = std::iter::successors(Some(first), |vni| Some(vni.next_chosen()));
    let taken = || Conflict::new(VNI_TAKEN, message::vni_taken(first, member.overlay.port, "of others"));
    candidates.find_map(|vni| request(vni).ok()).ok_or_else(taken)
}

/// Networks that need a multicast group: each node sends to all nodes of the segment, which
/// networks of different engines can share.
fn too_large<'a>(
    members: &[Member<'a>],
    vnis: &BTreeMap<String, Vni>,
    nodes: &BTreeMap<String, Node>,
) -> Vec<(&'a str, Conflict)> {
    if nodes.len() <= UNICAST_NODES_MAX {
        return Vec::new();
    }
    let mut segments: BTreeMap<(Vni, UdpPort), Vec<&Member<'a>>> = BTreeMap::new();
    for member in members.iter().filter(|member| member.overlay.multicast_group.is_none()) {
        if let Some(vni) = vnis.get(member.name) {
            segments.entry((*vni, member.overlay.port)).or_default().push(member);
        }
    }
    let of_segment = |segment: Vec<&Member<'a>>| {
        let is_on = |node: &&Node| segment.iter().any(|member| member.selects(node));
        let count = nodes.values().filter(is_on).count();
        let conflict = |member: &&Member<'a>| {
            let text = match member.overlay.encapsulation() {
                Encapsulation::Kernel => message::multicast_group_required(count, UNICAST_NODES_MAX),
                Encapsulation::Engine => message::too_many_nodes(count, UNICAST_NODES_MAX),
            };
            (member.name, Conflict::new(MULTICAST_GROUP_REQUIRED, text))
        };
        (count > UNICAST_NODES_MAX).then(|| segment.iter().map(conflict).collect::<Vec<_>>())
    };
    segments.into_values().filter_map(of_segment).flatten().collect()
}

/// The keys in the selectors of networks, and in those of the NICs of uplinks that have underlays:
/// without a selector, an overlay is on the nodes of its uplink.
fn all_label_keys(
    members: &[Member<'_>],
    compiled: &BTreeMap<String, Compiled>,
    uplinks: &BTreeMap<String, Uplink>,
) -> Option<BTreeSet<String>> {
    let requested =
        members.iter().filter_map(|member| member.network.spec.as_ref().ok()).map(|valid| valid.nodes.as_ref());
    let selections = compiled.values().filter_map(|compiled| compiled.selection.as_ref());
    let held = selections.filter(|selection| selection.overlay.is_some()).map(|selection| selection.nodes.as_ref());
    let mut selectors = requested.chain(held).peekable();
    selectors.peek()?;
    let underlays = uplinks.values().filter_map(|uplink| uplink.spec.as_ref().ok().filter(|it| it.underlay.is_some()));
    let of_nics = underlays.flat_map(|uplink| uplink.nics.iter().filter_map(|nic| nic.nodes.as_ref()));
    Some(selectors.flatten().chain(of_nics).flat_map(label_keys).collect())
}
