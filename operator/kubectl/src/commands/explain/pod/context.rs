//! One interface that a pod selects, and the objects that concern it.

use crate::commands::pods::report::{Program, has_definition, network_of, program};
use crate::commands::shared::age_at;
use crate::model::interface::interface;
use crate::model::placements::{Placement, placements};
use crate::model::selection::Selected;
use crate::model::snapshot::Event;
use crate::model::{Objects, Pod, Snapshot};
use usnet_controller::cache::Network;
use usnet_controller::cache::objects::Selection;
use usnet_crds::UserspaceNodeStateStatus;
use usnet_crds::conditions::reason::{self, Place};
use usnet_crds::validate::ValidNetwork;

/// A problem that an agent reports of an attached interface.
pub(super) struct Problem {
    pub reason: String,
    pub message: String,
}

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
    /// The path of the socket in containers, where it is not in a volume.
    pub socket: Option<String>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, pod: &'a Pod, element: &'a Selected) -> Self {
        let has_definition = has_definition(snapshot, element);
        let context = Self::of_network(snapshot, pod, element, network_of(snapshot, element));
        Self { has_definition, ..context }
    }

    /// The context of an interface whose network is known without a definition.
    pub(crate) fn of_network(
        snapshot: &'a Snapshot,
        pod: &'a Pod,
        element: &'a Selected,
        network: Option<String>,
    ) -> Self {
        let node = pod.node.as_deref();
        let placement =
            network.as_deref().and_then(|name| placements(snapshot, name).into_iter().find(|it| Some(it.node) == node));
        Self { snapshot, pod, element, network, has_definition: true, placement, socket: None }
    }

    /// Returns the state of the program that uses the interface.
    pub(crate) fn program(&self) -> Program {
        let interface = (self.pod.runtime_uid.as_str(), self.element.interface.as_str());
        let network = self.network.as_deref().unwrap_or_default();
        match self.snapshot.has_read(Objects::States) {
            true => program(self.snapshot, network, self.placement.as_ref(), interface),
            false => match self.problem() {
                Some(problem) if problem.reason == reason::NOT_CONNECTED => Program::NotConnected,
                Some(_) => Program::Failed,
                None => Program::Unknown,
            },
        }
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

    /// Returns what the agent reports of the interface; if node states may not be read, what the
    /// events of the pod say of it.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let (uid, interface) = (&self.pod.runtime_uid, &self.element.interface);
        if self.snapshot.has_read(Objects::States) {
            let entry = self.placement.as_ref()?.degraded(uid, interface)?;
            return Some(Problem { reason: entry.reason.clone(), message: entry.message.clone() });
        }
        let is_it = |event: &&Event| {
            let named = event.message.split([' ', ':', '.']).any(|word| word == interface);
            named && reason::find(&event.reason).is_some_and(|it| it.is_in(Place::Interface))
        };
        let event = self.snapshot.events.iter().rev().find(is_it)?;
        let age = age_at(self.snapshot.now, event.time);
        let message = format!("{} (an event, {age} ago: it may be over)", event.message);
        Some(Problem { reason: event.reason.clone(), message })
    }

    pub(crate) fn selection(&self) -> Option<&'a Selection> {
        self.snapshot.cache.compiled.get(self.network.as_deref()?)?.selection.as_ref()
    }

    /// Returns the report of the agent of the pod's node.
    pub(crate) fn node_status(&self) -> Option<&'a UserspaceNodeStateStatus> {
        self.snapshot.reports.get(self.pod.node.as_deref()?)
    }
}
