//! Step three of a pass, pure: what has to be written so that the cluster looks as compiled. Nothing is written that is there already.

use super::compile::{Compiled, Verdict, WantedDefinition};
use super::inputs::{Definition, DefinitionKey, Inputs, Network};
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::conditions::{READY, find};
use usnet_crds::{NodeNetwork, UserspaceNetworkSpec, UserspaceNetworkStatus};

/// One write to the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Makes or changes the spec of a node's state.
    NodeState {
        /// The node.
        node: String,
        /// The node's uid: the state goes with the node.
        owner: String,
        /// All networks of the node.
        networks: Vec<NodeNetwork>,
    },
    /// Deletes the state of a node that left the cluster, or of an earlier node of that name.
    DeleteNodeState {
        /// The node.
        node: String,
    },
    /// Makes or mends a definition.
    Definition {
        /// Where.
        key: DefinitionKey,
        /// What.
        wanted: WantedDefinition,
    },
    /// Deletes a definition of ours.
    DeleteDefinition {
        /// Where.
        key: DefinitionKey,
        /// The object that was looked at, and no later one of that name.
        uid: String,
    },
    /// Makes the network of a bridge that definitions name, or puts its spec back.
    NetworkFromNad {
        /// The network.
        network: String,
        /// Its uid; none to make it.
        uid: Option<String>,
        /// The whole spec.
        spec: Box<UserspaceNetworkSpec>,
    },
    /// Deletes a network that was made from definitions.
    DeleteNetwork {
        /// The network.
        network: String,
        /// The object that was looked at, and no later one of that name.
        uid: String,
    },
    /// Adds or removes our finalizer.
    Finalizer {
        /// The network.
        network: String,
        /// Its uid.
        uid: String,
        /// Whether it should be there.
        present: bool,
    },
    /// Writes the status of a network.
    Status {
        /// The network.
        network: String,
        /// Its uid.
        uid: String,
        /// The whole status.
        status: Box<UserspaceNetworkStatus>,
        /// Whether its readiness changed, and not only a count.
        is_news: bool,
    },
}

impl Write {
    /// What kind of write, in one word for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NodeState { .. } => "NodeState",
            Self::DeleteNodeState { .. } => "DeleteNodeState",
            Self::Definition { .. } => "Definition",
            Self::DeleteDefinition { .. } => "DeleteDefinition",
            Self::NetworkFromNad { .. } => "NetworkFromNad",
            Self::DeleteNetwork { .. } => "DeleteNetwork",
            Self::Finalizer { .. } => "Finalizer",
            Self::Status { .. } => "Status",
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeState { node, .. } => write!(formatter, "write UserspaceNodeState {node}"),
            Self::DeleteNodeState { node } => write!(formatter, "delete UserspaceNodeState {node}"),
            Self::Definition { key, .. } => write!(formatter, "write NetworkAttachmentDefinition {key}"),
            Self::DeleteDefinition { key, .. } => write!(formatter, "delete NetworkAttachmentDefinition {key}"),
            Self::NetworkFromNad { network, .. } => write!(formatter, "write UserspaceNetwork {network}"),
            Self::DeleteNetwork { network, .. } => write!(formatter, "delete UserspaceNetwork {network}"),
            Self::Finalizer { network, present: true, .. } => {
                write!(formatter, "add the finalizer of UserspaceNetwork {network}")
            }
            Self::Finalizer { network, .. } => write!(formatter, "remove the finalizer of UserspaceNetwork {network}"),
            Self::Status { network, .. } => write!(formatter, "write the status of UserspaceNetwork {network}"),
        }
    }
}

/// All writes but those of statuses.
pub fn diff(inputs: &Inputs, compiled: &Compiled) -> Vec<Write> {
    let mut writes: Vec<Write> =
        compiled.verdicts.iter().filter_map(|(name, verdict)| finalizer(inputs, name, verdict)).collect();
    writes.extend(node_states(inputs, compiled));
    if let Some(found) = &inputs.definitions {
        writes.extend(missing_definitions(found, compiled));
        writes.extend(surplus_definitions(found, inputs, compiled));
    }
    writes
}

/// The statuses that differ from what the networks have.
pub fn statuses(inputs: &Inputs, found: BTreeMap<String, UserspaceNetworkStatus>) -> Vec<Write> {
    let changed = |(name, status): (String, UserspaceNetworkStatus)| {
        let network = inputs.networks.get(&name).filter(|network| network.status.as_ref() != Some(&status))?;
        let is_news = readiness(network.status.as_ref()) != readiness(Some(&status));
        Some(Write::Status { network: name, uid: network.uid.clone(), status: Box::new(status), is_news })
    };
    found.into_iter().filter_map(changed).collect()
}

fn readiness(status: Option<&UserspaceNetworkStatus>) -> Option<(&str, &str)> {
    let ready = find(&status?.conditions, READY)?;
    Some((ready.status.as_str(), ready.reason.as_str()))
}

fn finalizer(inputs: &Inputs, name: &str, verdict: &Verdict) -> Option<Write> {
    let Network { uid, .. } = inputs.networks.get(name)?;
    let present = match verdict {
        Verdict::Starting => true,
        Verdict::Deleting(remains) if remains.let_go(name) && !has_definitions(inputs, name) => false,
        _ => return None,
    };
    Some(Write::Finalizer { network: name.to_owned(), uid: uid.clone(), present })
}

fn has_definitions(inputs: &Inputs, network: &str) -> bool {
    let is_ours = |(key, found): (&DefinitionKey, &Definition)| key.name == network && found.owner.is_some();
    inputs.definitions.iter().flatten().any(is_ours)
}

fn node_states(inputs: &Inputs, compiled: &Compiled) -> Vec<Write> {
    let mut writes = Vec::new();
    for (name, node) in &inputs.nodes {
        let Some(wanted) = compiled.nodes.get(name) else { continue };
        let state = inputs.states.get(name);
        if state.is_some_and(|state| state.owner.is_some() && !state.is_of(node)) {
            // Of an earlier node of that name: what its agent said goes with it.
            writes.push(Write::DeleteNodeState { node: name.clone() });
        } else if !state.is_some_and(|state| state.is_of(node) && state.networks.as_ref() == Some(wanted)) {
            let networks = wanted.values().cloned().collect();
            writes.push(Write::NodeState { node: name.clone(), owner: node.uid.clone(), networks });
        }
    }
    let left = inputs.states.keys().filter(|name| !inputs.nodes.contains_key(*name));
    writes.extend(left.map(|node| Write::DeleteNodeState { node: node.clone() }));
    writes
}

fn missing_definitions(found: &BTreeMap<DefinitionKey, Definition>, compiled: &Compiled) -> Vec<Write> {
    let is_achieved = |key: &DefinitionKey, wanted: &WantedDefinition| {
        found.get(key).is_some_and(|found| wanted.is_achieved_by(key, found))
    };
    let missing = compiled.definitions.iter().filter(|(key, wanted)| !is_achieved(key, wanted));
    missing.map(|(key, wanted)| Write::Definition { key: key.clone(), wanted: wanted.clone() }).collect()
}

/// Ours that nobody needs: the network is gone, or no longer selects the namespace.
fn surplus_definitions(
    found: &BTreeMap<DefinitionKey, Definition>,
    inputs: &Inputs,
    compiled: &Compiled,
) -> Vec<Write> {
    let is_surplus = |key: &DefinitionKey| match compiled.verdicts.get(&key.name) {
        None => true,
        Some(Verdict::Active) => !compiled.definitions.contains_key(key),
        Some(Verdict::Deleting(remains)) => remains.let_go(&key.name),
        Some(Verdict::Starting | Verdict::Refused { .. }) => false,
    };
    // What is in a namespace that is being deleted goes with it.
    let is_open = |key: &DefinitionKey| inputs.namespaces.get(&key.namespace).is_some_and(|it| !it.is_deleting);
    let surplus = found.iter().filter(|(key, found)| found.owner.is_some() && is_open(key) && is_surplus(key));
    surplus.map(|(key, found)| Write::DeleteDefinition { key: key.clone(), uid: found.uid.clone() }).collect()
}
