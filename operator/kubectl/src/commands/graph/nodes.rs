//! The nodes of the cluster: their engines, the NICs of uplinks, and what is wrong with them.

use crate::model::{Objects, Snapshot};
use serde::Serialize;
use usnet_crds::conditions::{Status, engine_connected, find, reason};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, UserspaceNodeStateStatus};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ClusterNode {
    pub name: String,
    /// The connected engines with their versions.
    pub engines: Vec<String>,
    /// The NICs that connect the node's bridges to others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uplinks: Vec<NodeUplink>,
    /// What is wrong with the node itself: a reason, perhaps an engine, and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An uplink on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodeUplink {
    pub uplink: String,
    /// The name of the NIC in Linux; empty if there is none.
    pub nic: String,
    /// Why the NIC is not usable; empty if it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// Returns the nodes, sorted by name.
pub(super) fn cluster_nodes(snapshot: &Snapshot) -> Vec<ClusterNode> {
    let node = |(name, _, state): (&str, &_, Option<&_>)| {
        let status = state.and_then(|_| snapshot.reports.get(name));
        ClusterNode {
            name: name.to_owned(),
            engines: status.map(engines).unwrap_or_default(),
            uplinks: status.map(|status| status.uplinks.iter().map(uplink).collect()).unwrap_or_default(),
            problems: problems(snapshot, name, status),
        }
    };
    snapshot.cache.nodes_with_states().map(node).collect()
}

fn engines(status: &UserspaceNodeStateStatus) -> Vec<String> {
    status.engines.iter().map(|engine| format!("{} {}", engine.engine, engine.version)).collect()
}

fn uplink(report: &UplinkReport) -> NodeUplink {
    let problem = match report.state {
        UplinkState::Programmed => String::new(),
        UplinkState::Pending if report.reason.is_empty() => "Pending".to_owned(),
        UplinkState::Pending | UplinkState::Failed => format!("{}: {}", report.reason, report.message),
    };
    NodeUplink { uplink: report.name.clone(), nic: report.nic.clone(), problem }
}

fn problems(snapshot: &Snapshot, name: &str, status: Option<&UserspaceNodeStateStatus>) -> Vec<String> {
    let mut problems = Vec::new();
    let is_not_ready = snapshot.cache.nodes.get(name).is_some_and(|node| !node.is_ready);
    if is_not_ready && snapshot.has_read(Objects::Nodes) {
        problems.push("NodeNotReady: Kubernetes has lost the node".to_owned());
    }
    let Some(status) = status else {
        // A node without usnet, such as one of the control plane, is not a problem.
        return problems;
    };
    if snapshot.has_read(Objects::UsnetPods) && snapshot.agent(name).is_none() {
        problems.push("NoAgent: the networks of the node are not updated".to_owned());
    }
    for engine in EngineKind::ALL {
        let down = find(&status.conditions, engine_connected(engine));
        let down = down.filter(|it| it.status == Status::False.as_str() && it.reason != reason::NEVER_SEEN);
        problems.extend(down.map(|down| format!("{}: {engine}: {}", down.reason, down.message)));
    }
    problems
}
