//! One interface that a pod selects, and the objects that concern it.

use crate::commands::pods::report::{has_definition, network_of};
use crate::model::interface::interface;
use crate::model::placements::{Placement, placements};
use crate::model::selection::Selected;
use crate::model::{Pod, Snapshot};
use usnet_controller::cache::Network;
use usnet_controller::cache::objects::Selection;
use usnet_crds::UserspaceNodeStateStatus;
use usnet_crds::validate::ValidNetwork;

pub(super) struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub pod: &'a Pod,
    pub element: &'a Selected,
    /// The network that the definition names, or else the one with the name of the element.
    pub network: Option<String>,
    /// Whether the NetworkAttachmentDefinition exists.
    pub has_definition: bool,
    /// The network on the node of the pod.
    pub placement: Option<Placement<'a>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, pod: &'a Pod, element: &'a Selected) -> Self {
        let network = network_of(snapshot, element);
        let has_definition = has_definition(snapshot, element);
        let node = pod.node.as_deref();
        let placement =
            network.as_deref().and_then(|name| placements(snapshot, name).into_iter().find(|it| Some(it.node) == node));
        Self { snapshot, pod, element, network, has_definition, placement }
    }

    pub(crate) fn subject(&self) -> String {
        let network = self.network.as_deref().unwrap_or(&self.element.name);
        format!("{}, network {network}", self.element.interface)
    }

    pub(crate) fn object(&self) -> Option<&'a Network> {
        self.snapshot.cache.networks.get(self.network.as_deref()?)
    }

    /// Returns the spec of the network if it is valid.
    pub(crate) fn valid(&self) -> Option<&'a ValidNetwork> {
        self.object()?.spec.as_ref().ok()
    }

    /// Whether Multus has reported the interface.
    pub(crate) fn is_attached(&self) -> bool {
        interface(self.pod, &self.element.interface).is_some()
    }

    /// Whether the interface is meant to be one of usnet: its definition is not for another plugin,
    /// or has the name of a network.
    pub(crate) fn is_of_usnet(&self) -> bool {
        let is_for_another = self.has_definition
            && self.snapshot.network_of_definition(&self.element.namespace, &self.element.name).is_none();
        !is_for_another || self.snapshot.cache.networks.contains_key(&self.element.name)
    }

    pub(crate) fn selection(&self) -> Option<&'a Selection> {
        self.snapshot.cache.compiled.get(self.network.as_deref()?)?.selection.as_ref()
    }

    /// Returns the report of the agent of the pod's node.
    pub(crate) fn node_status(&self) -> Option<&'a UserspaceNodeStateStatus> {
        self.snapshot.reports.get(self.pod.node.as_deref()?)
    }
}
