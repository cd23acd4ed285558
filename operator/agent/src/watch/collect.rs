//! Collects what was read from the API server into one input.

use super::list_watch::{Event, Object};
use crate::model::input::{Compiled, Input, NodeAddresses, Unreadable};
use kube::core::SelectorExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use usnet_crds::node_selection::resource_version;
use usnet_crds::{
    CompiledNetwork, CompiledNetworkSpec, NetworkName, Phase, UplinkName, UserspaceNodeStateSpec, ValidUplink,
};

/// Keeps the input of the agent up to date. The input is changed in place, because copying a
/// thousand networks for each change would cost more than the change.
#[derive(Debug)]
pub(super) struct Collector {
    inputs: watch::Sender<Option<Input>>,
    /// Whether a network may need the addresses of other nodes.
    needs_nodes: watch::Sender<bool>,
    /// The input until both node state and networks are known.
    draft: Option<Draft>,
    list: List,
}

#[derive(Debug, Default)]
struct Draft {
    input: Input,
    has_node: bool,
    has_networks: bool,
}

/// A list that is not complete yet.
#[derive(Debug, Default)]
struct List {
    networks: BTreeMap<NetworkName, Arc<Compiled>>,
    unreadable: BTreeMap<NetworkName, Unreadable>,
}

impl Collector {
    pub(super) fn new(inputs: watch::Sender<Option<Input>>) -> Self {
        Self { inputs, needs_nodes: watch::Sender::new(false), draft: Some(Draft::default()), list: List::default() }
    }

    /// Whether a network may need the addresses of other nodes.
    pub(super) fn needs_nodes(&self) -> watch::Receiver<bool> {
        self.needs_nodes.subscribe()
    }

    /// Updates the node state.
    pub(super) fn node(&mut self, generation: i64, spec: UserspaceNodeStateSpec) {
        let UserspaceNodeStateSpec { number, labels, .. } = spec;
        self.change(|input| {
            let is_changed = (input.generation, input.number, &input.labels) != (generation, number, &labels);
            (input.generation, input.number, input.labels) = (generation, number, labels);
            is_changed
        });
        self.complete(|draft| draft.has_node = true);
    }

    /// Updates the addresses of the nodes; none while they are not known.
    pub(super) fn nodes(&mut self, nodes: Option<NodeAddresses>) {
        self.change(|input| {
            let is_changed = input.nodes.as_deref() != nodes.as_ref();
            if is_changed {
                input.nodes = nodes.map(Arc::new);
            }
            is_changed
        });
    }

    /// Updates the uplinks.
    pub(super) fn uplinks(&mut self, uplinks: BTreeMap<UplinkName, Arc<ValidUplink>>) {
        self.change(|input| {
            let is_changed = input.uplinks.as_ref() != Some(&uplinks);
            input.uplinks = Some(uplinks);
            is_changed
        });
    }

    /// Updates the compiled networks.
    pub(super) fn networks(&mut self, event: Event<CompiledNetwork>) {
        match event {
            Event::Page { objects, is_first, complete } => {
                if is_first {
                    self.list = List::default();
                }
                objects.iter().filter_map(parse).for_each(|(name, parsed)| self.list.insert(name, parsed));
                if let Some(version) = complete {
                    let list = std::mem::take(&mut self.list);
                    self.change(|input| list.replace(input, version));
                    self.complete(|draft| draft.has_networks = true);
                }
            }
            Event::Applied(object) => {
                if let Some((name, parsed)) = parse(&object) {
                    self.change(|input| apply(input, name, parsed));
                }
            }
            Event::Deleted(object) => {
                let version = resource_version(object.metadata.resource_version.as_deref());
                if let Ok(name) = object.name().parse::<NetworkName>() {
                    self.change(|input| {
                        input.unreadable.remove(&name);
                        input.networks.remove(&name);
                        input.version = input.version.max(version);
                        true
                    });
                }
            }
            Event::Opened => {}
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Input) -> bool) {
        let needs_nodes = match &mut self.draft {
            Some(draft) => {
                change(&mut draft.input);
                needs_nodes(&draft.input)
            }
            None => {
                self.inputs.send_if_modified(|input| input.as_mut().is_some_and(change));
                self.inputs.borrow().as_ref().is_some_and(needs_nodes)
            }
        };
        let replace = |known: &mut bool| std::mem::replace(known, needs_nodes) != needs_nodes;
        self.needs_nodes.send_if_modified(replace);
    }

    fn complete(&mut self, known: impl FnOnce(&mut Draft)) {
        let Some(mut draft) = self.draft.take() else { return };
        known(&mut draft);
        if draft.has_node && draft.has_networks {
            self.inputs.send_replace(Some(draft.input));
        } else {
            self.draft = Some(draft);
        }
    }
}

/// Whether a network with an overlay may be on this node. The engines of the node are not known
/// here.
fn needs_nodes(input: &Input) -> bool {
    let is_here = |compiled: &Compiled| compiled.selector.as_ref().is_none_or(|it| it.matches(&input.labels));
    let mut overlays = input.networks.values().filter(|compiled| compiled.per_node.overlay.is_some());
    overlays.any(|compiled| compiled.network.phase == Phase::Active && is_here(compiled))
}

type Parsed = Result<Compiled, Unreadable>;

/// Parses an object; none if its name is not valid for a network of usnet.
fn parse(object: &Object<CompiledNetwork>) -> Option<(NetworkName, Parsed)> {
    let name: NetworkName = object.name().parse().ok()?;
    let version = resource_version(object.metadata.resource_version.as_deref());
    let uid = object.metadata.uid.clone().unwrap_or_default();
    let spec = object.spec::<CompiledNetworkSpec>().map_err(|error| error.to_string());
    let compiled = spec.and_then(|spec| {
        Compiled::new(name.clone(), version, uid, &spec).map_err(|error| format!("nodeSelector: {error}"))
    });
    Some((name, compiled.map_err(|message| Unreadable { version, message })))
}

fn apply(input: &mut Input, name: NetworkName, parsed: Parsed) -> bool {
    match parsed {
        Ok(compiled) => {
            input.version = input.version.max(compiled.version);
            input.unreadable.remove(&name);
            input.networks.insert(name, Arc::new(compiled));
        }
        Err(unreadable) => {
            input.version = input.version.max(unreadable.version);
            warn_once(input.unreadable.get(&name), &name, &unreadable);
            input.unreadable.insert(name, unreadable);
        }
    }
    true
}

fn warn_once(known: Option<&Unreadable>, network: &NetworkName, unreadable: &Unreadable) {
    if known.map(|known| &known.message) != Some(&unreadable.message) {
        tracing::warn!(%network, error = unreadable.message, "cannot read a CompiledNetwork; continuing with its last readable version");
    }
}

impl List {
    fn insert(&mut self, name: NetworkName, parsed: Parsed) {
        match parsed {
            Ok(compiled) => drop(self.networks.insert(name, Arc::new(compiled))),
            Err(unreadable) => drop(self.unreadable.insert(name, unreadable)),
        }
    }

    /// Replaces the networks of the input. Unchanged networks stay the same in memory, so that
    /// comparing them is cheap.
    fn replace(mut self, input: &mut Input, version: u64) -> bool {
        let known = std::mem::take(&mut input.networks);
        for (name, old) in known {
            match self.networks.get_mut(&name) {
                Some(new) if *new == old => *new = old,
                Some(_) => {}
                None if self.unreadable.contains_key(&name) => drop(self.networks.insert(name, old)),
                None => {}
            }
        }
        for (name, unreadable) in &self.unreadable {
            warn_once(input.unreadable.get(name), name, unreadable);
        }
        (input.networks, input.unreadable, input.version) = (self.networks, self.unreadable, version);
        true
    }
}
