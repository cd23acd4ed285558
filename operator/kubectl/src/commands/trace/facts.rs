//! The facts about both endpoints.

use crate::commands::pods::report::uses_of;
use crate::model::{Pod, Snapshot};
use usnet_crds::NetworkName;
use usnet_node_output::bridge::{BridgeFacts, PortFacts};

/// One of the two pods, with its interface on the network.
pub(super) struct Endpoint<'a> {
    pub pod: &'a Pod,
    pub interface: String,
    /// Whether the API server has the interface as attached.
    pub is_attached: bool,
    /// The network on the pod's node, or why that is unknown.
    pub bridge: Result<BridgeFacts, String>,
}

/// The facts about both endpoints.
pub(super) struct Facts<'a> {
    pub network: String,
    /// The sending endpoint.
    pub from: Endpoint<'a>,
    /// The receiving endpoint.
    pub to: Endpoint<'a>,
}

impl Endpoint<'_> {
    /// Returns the pod and the interface, for users.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.pod.reference(), self.interface)
    }

    /// Returns the node of the pod; empty while the pod is not scheduled.
    pub(super) fn node(&self) -> &str {
        self.pod.node.as_deref().unwrap_or_default()
    }

    /// Returns the port, if the node reports it.
    pub(super) fn port(&self) -> Option<&PortFacts> {
        let bridge = self.bridge.as_ref().ok()?;
        bridge.ports.iter().find(|port| port.pod == self.pod.reference() && port.interface == self.interface)
    }
}

impl Facts<'_> {
    /// Whether both pods are on one node.
    pub(super) fn is_on_one_node(&self) -> bool {
        self.from.node() == self.to.node()
    }
}

/// Why two pods have no network on which to trace packets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoCommonNetwork {
    /// The pods have several networks in common.
    Ambiguous(Vec<String>),
    /// The pods have no network in common; the text lists the networks of each.
    None([String; 2]),
}

/// Returns the network that both pods have an interface on.
pub(super) fn common_network(
    snapshot: &Snapshot,
    pods: [&Pod; 2],
    wanted: Option<&NetworkName>,
) -> Result<String, NoCommonNetwork> {
    let [of_from, of_to] = pods.map(|pod| {
        let mut names: Vec<String> = uses_of(snapshot, pod).into_iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        names
    });
    let is_wanted = |name: &&String| wanted.is_none_or(|wanted| wanted.as_str() == name.as_str());
    let both: Vec<String> = of_from.iter().filter(|name| of_to.contains(name)).filter(is_wanted).cloned().collect();
    match both.as_slice() {
        [] => Err(NoCommonNetwork::None([of_from, of_to].map(|names| match names.as_slice() {
            [] => "no network of usnet".to_owned(),
            names => names.join(", "),
        }))),
        [only] => Ok(only.clone()),
        _ => Err(NoCommonNetwork::Ambiguous(both)),
    }
}
