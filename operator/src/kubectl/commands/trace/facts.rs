//! What is known of both ends.

use crate::kubectl::commands::pods::report::network_of;
use crate::kubectl::model::selection::{Selected, selected};
use crate::kubectl::model::{Pod, Snapshot};
use crate::node::bridge::{BridgeFacts, PortFacts};
use usnet_crds::NetworkName;

/// One of the two pods, with its interface in the network.
pub(super) struct End<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// The interface.
    pub interface: String,
    /// What its node says of the network, or why it says nothing.
    pub bridge: Result<BridgeFacts, String>,
}

/// Both ends of a network.
pub(super) struct Facts<'a> {
    /// The network.
    pub network: String,
    /// The pod that sends.
    pub from: End<'a>,
    /// The pod that receives.
    pub to: End<'a>,
}

impl End<'_> {
    /// As users write it.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.pod.reference(), self.interface)
    }

    /// Its node; empty while it has none.
    pub(super) fn node(&self) -> &str {
        self.pod.node.as_deref().unwrap_or_default()
    }

    /// Its port, if its node knows it.
    pub(super) fn port(&self) -> Option<&PortFacts> {
        let bridge = self.bridge.as_ref().ok()?;
        bridge.ports.iter().find(|port| port.pod == self.pod.reference() && port.interface == self.interface)
    }
}

impl Facts<'_> {
    /// Both pods are on one node.
    pub(super) fn is_on_one_node(&self) -> bool {
        self.from.node() == self.to.node()
    }
}

/// Why two pods have no network of which the way could be traced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoCommonNetwork {
    /// They have several.
    Ambiguous(Vec<String>),
    /// They have none; the networks of each, as text.
    None([String; 2]),
}

/// The networks that a pod selects, with the interface of each.
pub(super) fn networks(snapshot: &Snapshot, pod: &Pod) -> Vec<(String, Selected)> {
    let elements = pod.networks.as_deref().map(|text| selected(text, &pod.namespace));
    let elements = elements.and_then(Result::ok).unwrap_or_default();
    elements.into_iter().filter_map(|element| Some((network_of(snapshot, &element)?, element))).collect()
}

/// The network that both pods select.
pub(super) fn common_network(
    snapshot: &Snapshot,
    pods: [&Pod; 2],
    wanted: Option<&NetworkName>,
) -> Result<String, NoCommonNetwork> {
    let [of_from, of_to] = pods.map(|pod| {
        let mut names: Vec<String> = networks(snapshot, pod).into_iter().map(|(name, _)| name).collect();
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
