//! One network on all nodes.

use super::super::compile::Verdict;
use super::super::compile::placement::{Course, Draining};
use super::super::inputs::Inputs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::{NodeNetwork, Phase};

/// One network on all nodes.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Row {
    /// What became of it; none when it is not ours to care for.
    pub(in super::super) verdict: Option<Verdict>,
    course: Course,
    draining: Draining,
    cells: BTreeMap<Arc<str>, Cell>,
    /// Nodes whose state does not hold what it should.
    differing: BTreeSet<Arc<str>>,
    /// Attached and connected interfaces, of nodes that have some.
    usage: BTreeMap<Arc<str>, (i64, i64)>,
    /// Where the network was found last in what a node has and says.
    places: (usize, usize),
}

/// A network as one node should have it.
#[derive(Debug, Clone)]
struct Cell {
    network: Arc<NodeNetwork>,
    progress: Progress,
}

/// How far a network is on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Progress {
    /// It is leaving the node.
    Leaving,
    /// The node is NotReady.
    Unreachable,
    Programmed,
    Failed,
    Pending,
}

impl Row {
    pub(super) fn new(course: Course, verdict: Option<Verdict>) -> Self {
        Self { course, verdict, ..Self::default() }
    }

    /// Looks at the network on one node of the cluster.
    pub(super) fn look(&mut self, inputs: &Inputs, name: &str, node: &Arc<str>) {
        let Some(facts) = inputs.nodes.get(&**node) else { return self.forget(node) };
        let state = inputs.states.get(&**node);
        let held = state.and_then(|state| state.networks.as_ref()?.get_near(name, &mut self.places.0));
        let network = inputs.networks.get(name);
        let wanted = network.and_then(|network| self.course.on(network, (facts, state), held, &mut self.draining));
        let wanted = wanted.map(|wanted| self.adopt(wanted, held));
        if wanted.as_ref() == held {
            self.differing.remove(node);
        } else {
            self.differing.insert(node.clone());
        }
        let report = state.and_then(|state| state.status.as_ref()?.reports.get_near(name, &mut self.places.1));
        match report.map(|report| (report.attachments, report.connected)) {
            None | Some((0, _)) => drop(self.usage.remove(node)),
            Some(usage) => drop(self.usage.insert(node.clone(), usage)),
        }
        let Some(network) = wanted else {
            self.cells.remove(node);
            return;
        };
        // What was said of an earlier node of that name does not count.
        let said = report.map(AsRef::as_ref).filter(|_| state.is_some_and(|state| state.is_of(facts)));
        let progress = progress(&network, facts.is_ready, said);
        self.cells.insert(node.clone(), Cell { network, progress });
    }

    /// The node left the cluster.
    pub(super) fn forget(&mut self, node: &str) {
        self.cells.remove(node);
        self.differing.remove(node);
        self.usage.remove(node);
    }

    /// Equal networks are made one, so that they are kept once and compared by their pointers from then on.
    fn adopt(&mut self, wanted: Arc<NodeNetwork>, held: Option<&Arc<NodeNetwork>>) -> Arc<NodeNetwork> {
        let Some(held) = held.filter(|held| **held == wanted) else { return wanted };
        match &mut self.course {
            Course::Place(entry) if Arc::ptr_eq(entry, &wanted) => *entry = held.clone(),
            _ => {}
        }
        held.clone()
    }

    /// Nothing is known of the network and nothing has to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.verdict.is_none() && self.cells.is_empty() && self.differing.is_empty() && self.usage.is_empty()
    }

    /// Nodes whose state does not hold what it should.
    pub(in super::super) fn differing(&self) -> &BTreeSet<Arc<str>> {
        &self.differing
    }

    /// The network as this node should have it.
    pub(super) fn on(&self, node: &str) -> Option<&Arc<NodeNetwork>> {
        self.cells.get(node).map(|cell| &cell.network)
    }

    /// The network as each node should have it.
    pub(super) fn networks(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<NodeNetwork>)> {
        self.cells.iter().map(|(node, cell)| (node, &cell.network))
    }

    /// How far it is on each node.
    pub(in super::super) fn progress(&self) -> impl Iterator<Item = (&str, Progress)> {
        self.cells.iter().map(|(node, cell)| (&**node, cell.progress))
    }

    /// Attached and connected interfaces on all nodes.
    pub(in super::super) fn usage(&self) -> (i64, i64) {
        let add = |(attached, connected): (i64, i64), (more_attached, more_connected): &(i64, i64)| {
            (attached.saturating_add(*more_attached), connected.saturating_add(*more_connected))
        };
        self.usage.values().fold((0, 0), add)
    }
}

/// Only what the node says of this generation of the network counts, and not of an older one.
fn progress(network: &NodeNetwork, is_ready: bool, report: Option<&NetworkReport>) -> Progress {
    if network.phase != Phase::Active {
        return Progress::Leaving;
    }
    if !is_ready {
        return Progress::Unreachable;
    }
    match report.filter(|report| report.generation == network.generation).map(|report| report.state) {
        Some(NetworkState::Programmed) => Progress::Programmed,
        Some(NetworkState::Failed) => Progress::Failed,
        _ => Progress::Pending,
    }
}
