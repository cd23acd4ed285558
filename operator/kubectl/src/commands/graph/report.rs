//! The graph of networks, their nodes and pods.

use super::nodes::{ClusterNode, cluster_nodes};
use crate::commands::pods::report::{Attached, Uses, Waiting, report_of, uses};
use crate::model::placements::placements;
use crate::model::{Snapshot, Unread};
use serde::Serialize;
use std::collections::BTreeSet;
use usnet_crds::conditions::reason::ENGINE_UNREACHABLE;
use usnet_crds::engine::BridgeKey;
use usnet_crds::network::OverlayStatus;
use usnet_crds::network::topology::Topology;
use usnet_crds::validate::ValidNetwork;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Graph {
    pub networks: Vec<NetworkVertex>,
    /// The nodes of the cluster, sorted by name.
    pub nodes: Vec<ClusterNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NetworkVertex {
    pub name: String,
    /// The engine, bridge, MTU and VLAN, for users.
    pub description: String,
    /// The connection between nodes, for users.
    pub topology: String,
    /// Whether the network connects nodes.
    pub connects_nodes: bool,
    /// The uplink whose NICs have the network's frames, encapsulated or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<String>,
    /// The bridge, such as `br-blue` or `bridge domain 4`; empty if the spec is invalid.
    pub bridge: String,
    pub nodes: Vec<NodeVertex>,
    /// Pods that wait for the network and are on none of its nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodeVertex {
    pub name: String,
    pub state: String,
    pub reason: String,
    pub interfaces: Vec<Attached>,
    /// Pods that wait for the network on this node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
    /// The number of attached interfaces that are not listed.
    pub unnamed: i64,
}

impl NodeVertex {
    /// Whether the network cannot carry packets on the node.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self.state.as_str(), "Failed" | "Unreachable")
    }

    /// Whether that is so because of the network, and not because of the node or its engine.
    pub(crate) fn has_own_failure(&self) -> bool {
        self.is_bad() && !is_of_node(&self.state, &self.reason)
    }

    pub(crate) fn has_pods(&self) -> bool {
        !self.waiting.is_empty() || self.attachments() > 0
    }

    /// Returns the number of attached interfaces, as far as they are known.
    pub(crate) fn attachments(&self) -> i64 {
        i64::try_from(self.interfaces.len()).unwrap_or(i64::MAX).saturating_add(self.unnamed)
    }
}

/// Whether the state of a network on a node, with its reason, is that of the node or its engine.
pub(super) fn is_of_node(state: &str, reason: &str) -> bool {
    state == "Unreachable" || first_word(state, reason) == ENGINE_UNREACHABLE
}

/// Returns the reason before its message, or the state if the reason is a sentence.
pub(super) fn first_word<'a>(state: &'a str, reason: &'a str) -> &'a str {
    match reason.split_once(':') {
        Some((word, _)) if !word.contains(' ') => word,
        _ if reason.is_empty() || reason.contains(' ') => state,
        _ => reason,
    }
}

/// Returns the graph of all networks, or of one.
pub(crate) fn graph(snapshot: &Snapshot, only: Option<&str>) -> Graph {
    let uses = uses(snapshot);
    let names = snapshot.cache.networks.keys().filter(|name| only.is_none_or(|only| only == *name));
    let networks: Vec<_> = names.map(|name| vertex(snapshot, name, &uses)).collect();
    let mut nodes = cluster_nodes(snapshot);
    if only.is_some() {
        let named: BTreeSet<_> = networks.iter().flat_map(|network| &network.nodes).map(|node| &node.name).collect();
        nodes.retain(|node| named.contains(&node.name));
    }
    Graph { networks, nodes, not_read: snapshot.unread.clone() }
}

fn vertex(snapshot: &Snapshot, name: &str, uses: &Uses<'_>) -> NetworkVertex {
    let network = snapshot.cache.networks.get(name);
    let valid = network.and_then(|network| network.spec.as_ref().ok());
    let description = valid.map_or_else(
        || "its spec is invalid".to_owned(),
        |valid| {
            let vlan = valid.port.vlan.as_ref().map(|vlan| format!(", {vlan}")).unwrap_or_default();
            format!("{} {}, MTU {}{vlan}", valid.engine, valid.bridge.name, valid.bridge.mtu)
        },
    );
    let topology = valid.map_or(&Topology::NodeLocal, |valid| &valid.topology);
    let report = report_of(snapshot, name, uses.get(name).map(Vec::as_slice).unwrap_or_default(), None);
    let (mut interfaces, mut waiting) = (report.interfaces, report.waiting);
    let nodes = placements(snapshot, name).into_iter().map(|placement| {
        let (state, reason) = placement.state(snapshot);
        let listed_here: Vec<_> = interfaces.extract_if(.., |attached| attached.node == placement.node).collect();
        let is_here = |waiting: &mut Waiting| waiting.node.as_deref() == Some(placement.node);
        let waiting = waiting.extract_if(.., is_here).collect();
        let attached = placement.report.map_or(0, |report| report.attachments);
        let listed = i64::try_from(listed_here.len()).unwrap_or(i64::MAX);
        let (name, state) = (placement.node.to_owned(), state.to_owned());
        NodeVertex { name, state, reason, unnamed: (attached - listed).max(0), interfaces: listed_here, waiting }
    });
    let nodes = nodes.collect();
    NetworkVertex {
        name: name.to_owned(),
        description,
        topology: connection(topology, network.and_then(|network| network.status.as_ref()?.overlay.as_ref())),
        connects_nodes: *topology != Topology::NodeLocal,
        uplink: topology.uplink_name().map(ToString::to_string),
        bridge: valid.map(bridge_text).unwrap_or_default(),
        nodes,
        waiting,
    }
}

fn bridge_text(valid: &ValidNetwork) -> String {
    let traits = valid.engine.traits();
    match traits.bridge_key {
        BridgeKey::Name => valid.bridge.name.to_string(),
        BridgeKey::Id => format!("{} {}", traits.bridge_noun, valid.bridge.name),
    }
}

/// Returns the connection between nodes, for users. The VNI is in the status if the controller has
/// chosen it.
fn connection(topology: &Topology, status: Option<&OverlayStatus>) -> String {
    match topology {
        Topology::NodeLocal => "nodes are not connected".to_owned(),
        Topology::Uplink(uplink) => {
            let vlan = uplink.vlan.map_or_else(|| "untagged".to_owned(), |vlan| format!("VLAN {vlan}"));
            format!("uplink {}, {vlan}", uplink.name)
        }
        Topology::Overlay(overlay) => {
            let vni = overlay.vni.or_else(|| status.map(|status| status.vni));
            let vni = vni.map(|vni| format!(", VNI {vni}")).unwrap_or_default();
            match &overlay.underlay {
                None => format!("VXLAN between the nodes{vni}"),
                Some(uplink) => format!("VXLAN of the engine on uplink {uplink}{vni}"),
            }
        }
    }
}
