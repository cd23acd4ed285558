//! One interface that a pod selects, with all that concerns it.

use crate::controller::cache::Network;
use crate::controller::cache::objects::Selection;
use crate::kubectl::commands::pods::report::{has_definition, network_of};
use crate::kubectl::model::interface::interface;
use crate::kubectl::model::places::{Place, places};
use crate::kubectl::model::selection::Selected;
use crate::kubectl::model::{Pod, Snapshot};
use usnet_crds::UserspaceNodeStateStatus;
use usnet_crds::validate::ValidNetwork;

/// One interface that a pod selects.
pub(super) struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub pod: &'a Pod,
    pub element: &'a Selected,
    /// The name of its network, if the definition says it, or else that of the element.
    pub network: Option<String>,
    /// There is a NetworkAttachmentDefinition.
    pub has_definition: bool,
    /// The node of the pod, as the network sees it.
    pub place: Option<Place<'a>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, pod: &'a Pod, element: &'a Selected) -> Self {
        let network = network_of(snapshot, element);
        let has_definition = has_definition(snapshot, element);
        let node = pod.node.as_deref();
        let place =
            network.as_deref().and_then(|name| places(snapshot, name).into_iter().find(|it| Some(it.node) == node));
        Self { snapshot, pod, element, network, has_definition, place }
    }

    /// As a finding names it.
    pub(crate) fn subject(&self) -> String {
        let network = self.network.as_deref().unwrap_or(&self.element.name);
        format!("{}, network {network}", self.element.interface)
    }

    /// The network, if it exists.
    pub(crate) fn object(&self) -> Option<&'a Network> {
        self.snapshot.cache.networks.get(self.network.as_deref()?)
    }

    /// The spec of the network, if it breaks no rule.
    pub(crate) fn valid(&self) -> Option<&'a ValidNetwork> {
        self.object()?.spec.as_ref().ok()
    }

    /// Multus has reported the interface.
    pub(crate) fn is_attached(&self) -> bool {
        interface(self.pod, &self.element.interface).is_some()
    }

    /// Whether the interface is, or was meant to be, one of usnet. A definition for another plugin
    /// is not, unless a network of its name would have it.
    pub(crate) fn is_of_usnet(&self) -> bool {
        let is_for_another = self.has_definition
            && self.snapshot.network_of_definition(&self.element.namespace, &self.element.name).is_none();
        !is_for_another || self.snapshot.cache.networks.contains_key(&self.element.name)
    }

    /// By what nodes select the network.
    pub(crate) fn selection(&self) -> Option<&'a Selection> {
        self.snapshot.cache.compiled.get(self.network.as_deref()?)?.selection.as_ref()
    }

    /// What the agent of the pod's node reports.
    pub(crate) fn node_status(&self) -> Option<&'a UserspaceNodeStateStatus> {
        self.snapshot.reports.get(self.pod.node.as_deref()?)
    }
}
