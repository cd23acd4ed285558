//! How far a network is on the nodes that should have it.

use super::inputs::Inputs;
use super::ledger::{Progress, Row};
use usnet_crds::conditions::reason::{BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, NODE_STATE_REFUSED};
use usnet_crds::network::{FAILURES_MAX, NodeCounts, NodeFailure};

/// Reasons of nodes that no waiting takes away.
const FOR_A_PERSON: [&str; 3] = [BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE];

/// The nodes of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) selected: usize,
    pub(super) programmed: usize,
    pub(super) unreachable: usize,
    /// Nodes that are still at work.
    pub(super) pending: usize,
    /// The first of them by name.
    pub(super) first_pending: Option<String>,
    /// Nodes that cannot.
    pub(super) failed: usize,
    /// Those of them that a status has room for, sorted.
    pub(super) failures: Vec<NodeFailure>,
    /// Of the nodes that cannot, those that only a person helps.
    stuck: usize,
}

impl Tally {
    /// `refusal` says why the API server does not take what a node should have.
    pub(super) fn of<'a>(network: &str, row: &Row, inputs: &Inputs, refusal: impl Fn(&str) -> Option<&'a str>) -> Self {
        let mut tally = Self::default();
        for (node, progress) in row.progress() {
            let refusal = || refusal(node).filter(|_| row.differing().contains(node));
            match progress {
                Progress::Leaving => continue,
                Progress::Unreachable => tally.unreachable += 1,
                Progress::Programmed => tally.programmed += 1,
                Progress::Failed => {
                    let report = inputs.states.get(node).and_then(|state| state.report(network));
                    let (reason, message) = report.map_or(("", ""), |report| (&report.reason, &report.message));
                    tally.fail(node, reason, message);
                }
                Progress::Pending => match refusal() {
                    Some(message) => tally.fail(node, NODE_STATE_REFUSED, message),
                    None => {
                        tally.pending += 1;
                        tally.first_pending.get_or_insert_with(|| node.to_owned());
                    }
                },
            }
            tally.selected += 1;
        }
        tally
    }

    fn fail(&mut self, node: &str, reason: &str, message: &str) {
        self.failed += 1;
        self.stuck += usize::from(FOR_A_PERSON.contains(&reason));
        if self.failures.len() < FAILURES_MAX {
            let (node, reason, message) = (node.to_owned(), reason.to_owned(), message.to_owned());
            self.failures.push(NodeFailure { node, reason, message });
        }
    }

    /// Nothing goes on, and all that failed is for a person to mend.
    pub(super) fn only_a_person_helps(&self) -> bool {
        self.pending == 0 && self.failed > 0 && self.stuck == self.failed
    }

    /// For the status of the network.
    pub(super) fn counts(&self) -> NodeCounts {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        NodeCounts {
            selected: count(self.selected),
            programmed: count(self.programmed),
            failed: count(self.failed),
            unreachable: count(self.unreachable),
            summary: format!("{}/{}", self.programmed, self.selected),
        }
    }
}
