//! The controller's pure part with an API server and agents that do what they should.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::validate::validate;
use usnet_operator::controller::by_name::ByName;
use usnet_operator::controller::changes::Changes;
use usnet_operator::controller::diff::{Edit, Write};
use usnet_operator::controller::inputs::{Inputs, Namespace, Network, Node, NodeState, NodeStatus};
use usnet_operator::controller::ledger::Ledger;

const NAMESPACES: usize = 20;

pub(crate) struct Simulation {
    pub(crate) inputs: Inputs,
    changes: Changes,
    ledger: Ledger,
    reports: BTreeMap<(String, i64), Arc<NetworkReport>>,
}

impl Simulation {
    /// A cluster in which nothing is left to do.
    pub(crate) fn settled(networks: usize, nodes: usize) -> Self {
        let node = |index| Node { uid: format!("node-{index}"), is_ready: true, ..Node::default() };
        let labels: BTreeMap<_, _> = [("team".to_owned(), "a".to_owned())].into();
        let namespace = |_| Namespace { labels: labels.clone(), is_deleting: false };
        let inputs = Inputs {
            nodes: (0..nodes).map(|index| (format!("node-{index:04}"), node(index))).collect(),
            namespaces: (0..NAMESPACES).map(|index| (format!("team-{index}"), namespace(index))).collect(),
            networks: (0..networks).map(|index| (format!("network-{index:04}"), made(index, 1500))).collect(),
            ..Inputs::default()
        };
        let (changes, ledger) = (Changes::everything(), Ledger::default());
        let mut simulation = Self { inputs, changes, ledger, reports: BTreeMap::new() };
        simulation.settle();
        simulation
    }

    /// Gives a network another MTU.
    pub(crate) fn change(&mut self, index: usize, mtu: usize) {
        let name = format!("network-{index:04}");
        let old = self.inputs.networks[&name].clone();
        let spec = made(index, mtu).spec;
        let new = Network { spec, generation: old.generation + 1, ..old.clone() };
        self.inputs.networks.insert(name.clone(), new);
        self.changes.networks.entry(name).or_insert(Some(old));
    }

    /// Passes until nothing is left to do; gives back the time of the passes and the number of writes.
    pub(crate) fn settle(&mut self) -> (Duration, usize) {
        let (mut took, mut count) = (Duration::ZERO, 0);
        loop {
            let changes = std::mem::take(&mut self.changes);
            let start = Instant::now();
            self.ledger.update(&self.inputs, &changes);
            let writes = self.ledger.writes(&self.inputs, &Time(Timestamp::UNIX_EPOCH));
            took += start.elapsed();
            if writes.is_empty() {
                return (took, count);
            }
            count += writes.len();
            let mut written = Vec::new();
            for write in writes {
                written.extend(self.take(write));
            }
            for node in written {
                self.answer(&node);
            }
        }
    }

    /// Does as the API server does; gives back the node whose state changed.
    fn take(&mut self, write: Write) -> Option<String> {
        match write {
            Write::NodeState { node, owner, networks } => {
                let networks = Some(networks.into_iter().collect());
                let state = NodeState {
                    uid: node.clone(),
                    owner: Some(owner),
                    generation: 1,
                    networks,
                    ..NodeState::default()
                };
                self.replace(&node, state);
                Some(node)
            }
            Write::EditNodeState { node, edits, .. } => {
                let mut state = self.inputs.states[&node].clone();
                let mut networks: Vec<_> = state.networks.iter().flat_map(ByName::iter).cloned().collect();
                for edit in edits {
                    match edit {
                        Edit::Replace(index, network) => networks[index] = network,
                        Edit::Insert(index, network) => networks.insert(index, network),
                        Edit::Remove(index) => drop(networks.remove(index)),
                    }
                }
                state.networks = Some(networks.into_iter().collect());
                state.generation += 1;
                self.replace(&node, state);
                Some(node)
            }
            Write::Finalizer { network, .. } => {
                self.edit(&network, |network| network.has_finalizer = true);
                None
            }
            Write::Status { network, status, .. } => {
                self.edit(&network, |network| network.status = Some(*status));
                None
            }
            other => unreachable!("{other}"),
        }
    }

    fn edit(&mut self, name: &str, edit: impl FnOnce(&mut Network)) {
        let network = self.inputs.networks.get_mut(name).expect("the network is there");
        self.changes.networks.entry(name.to_owned()).or_insert_with(|| Some(network.clone()));
        edit(network);
    }

    fn replace(&mut self, node: &str, state: NodeState) {
        let old = self.inputs.states.insert(node.to_owned(), state);
        self.changes.states.entry(node.to_owned()).or_insert(old);
    }

    /// Does as the agent of the node does.
    fn answer(&mut self, node: &str) {
        let mut state = self.inputs.states[node].clone();
        let reports = &mut self.reports;
        let known = state.networks.iter().flat_map(ByName::iter).map(|network| {
            let key = (network.name.to_string(), network.generation);
            reports
                .entry(key)
                .or_insert_with(|| Arc::new(programmed(network.name.as_str(), network.generation)))
                .clone()
        });
        let observed_generation = Some(state.generation);
        state.status = Some(NodeStatus { observed_generation, reports: known.collect(), ..NodeStatus::default() });
        self.replace(node, state);
    }
}

fn made(index: usize, mtu: usize) -> Network {
    let object = crate::network(&format!("network-{index:04}"), mtu);
    Network {
        uid: format!("network-{index}"),
        generation: 1,
        created: None,
        is_deleting: false,
        deletion_asked: None,
        has_finalizer: false,
        force_delete: None,
        has_from_nad_label: false,
        spec: validate(&object).map_err(|invalid| invalid.to_string()),
        status: None,
    }
}

/// What an agent says of a network that is as it should be.
pub(crate) fn programmed(name: &str, generation: i64) -> NetworkReport {
    NetworkReport {
        name: name.to_owned(),
        generation,
        state: NetworkState::Programmed,
        reason: String::new(),
        message: String::new(),
        attachments: 0,
        connected: 0,
        pods: Vec::new(),
    }
}
