//! The graph of networks, their nodes and pods.

use crate::commands::pods::report::{Attached, Uses, report_of, uses};
use crate::model::placements::placements;
use crate::model::{Snapshot, Unread};
use serde::Serialize;
use usnet_crds::network::topology::Topology;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Graph {
    pub networks: Vec<NetworkVertex>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NetworkVertex {
    pub name: String,
    /// The engine, bridge, MTU and VLAN, for users.
    pub description: String,
    /// The connection between nodes, for users.
    pub topology: String,
    /// Whether the network connects nodes.
    pub connects_nodes: bool,
    pub nodes: Vec<NodeVertex>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodeVertex {
    pub name: String,
    pub state: String,
    pub reason: String,
    pub interfaces: Vec<Attached>,
    /// The number of attached interfaces that are not listed.
    pub unnamed: i64,
}

/// Returns the graph of all networks, or of one.
pub(crate) fn graph(snapshot: &Snapshot, only: Option<&str>) -> Graph {
    let uses = uses(snapshot);
    let names = snapshot.cache.networks.keys().filter(|name| only.is_none_or(|only| only == *name));
    let networks = names.map(|name| vertex(snapshot, name, &uses)).collect();
    Graph { networks, not_read: snapshot.unread.clone() }
}

fn vertex(snapshot: &Snapshot, name: &str, uses: &Uses<'_>) -> NetworkVertex {
    let valid = snapshot.cache.networks.get(name).and_then(|network| network.spec.as_ref().ok());
    let description = valid.map_or_else(
        || "its spec is invalid".to_owned(),
        |valid| {
            let vlan = valid.port.vlan.as_ref().map(|vlan| format!(", {vlan}")).unwrap_or_default();
            format!("{} {}, MTU {}{vlan}", valid.engine, valid.bridge.name, valid.bridge.mtu)
        },
    );
    let topology = valid.map_or(&Topology::NodeLocal, |valid| &valid.topology);
    let text = match topology {
        Topology::NodeLocal => "nodes are not connected".to_owned(),
        Topology::Uplink(uplink) => {
            let vlan = uplink.vlan.map_or_else(|| "untagged".to_owned(), |vlan| format!("VLAN {vlan}"));
            format!("uplink {}, {vlan}", uplink.name)
        }
        Topology::Overlay(overlay) => match &overlay.underlay {
            None => "VXLAN between the nodes".to_owned(),
            Some(uplink) => format!("VXLAN of the engine on uplink {uplink}"),
        },
    };
    let mut interfaces =
        report_of(snapshot, name, uses.get(name).map(Vec::as_slice).unwrap_or_default(), None).interfaces;
    let nodes = placements(snapshot, name).into_iter().map(|placement| {
        let (state, reason) = placement.state(snapshot);
        let listed_here: Vec<_> = interfaces.extract_if(.., |attached| attached.node == placement.node).collect();
        let attached = placement.report.map_or(0, |report| report.attachments);
        let listed = i64::try_from(listed_here.len()).unwrap_or(i64::MAX);
        let (name, state) = (placement.node.to_owned(), state.to_owned());
        NodeVertex { name, state, reason, unnamed: (attached - listed).max(0), interfaces: listed_here }
    });
    let nodes = nodes.collect();
    let connects_nodes = *topology != Topology::NodeLocal;
    NetworkVertex { name: name.to_owned(), description, topology: text, connects_nodes, nodes }
}
