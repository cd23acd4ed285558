//! What the agent is asked for and what it answers, without anything of the API server: the loop takes the one and gives the other, and tests
//! stand where the API server is.

use super::reason::AGENT_FAILED;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use usnet_crds::NodeNetwork;
use usnet_crds::conditions::{self, Finding, READY, Status};
use usnet_crds::node_state::{EngineReport, NetworkReport, UserspaceNodeStateStatus, summary};

/// What the node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The networks of the node.
    pub networks: Vec<NodeNetwork>,
}

/// What the node has.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The generation of the spec that this speaks of; none before the first spec.
    pub observed_generation: Option<i64>,
    /// One entry for each network that the node has or should have, by name.
    pub networks: Vec<NetworkReport>,
    /// The engines that the agent is connected to.
    pub engines: Vec<EngineReport>,
    /// The conditions, without the time since when they hold.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The same, but the agent could not finish its work: what is said of networks may be old.
    pub fn spoiled(mut self, problem: String) -> Self {
        self.findings.retain(|finding| finding.kind != READY);
        self.findings.push(Finding::new(READY, Status::False, AGENT_FAILED, problem));
        self
    }

    /// The status that replaces one with conditions `old`.
    pub fn into_status(self, old: &[Condition], now: &Time) -> UserspaceNodeStateStatus {
        UserspaceNodeStateStatus {
            observed_generation: self.observed_generation,
            conditions: conditions::merge(old, self.findings, self.observed_generation, now),
            summary: summary(&self.networks),
            networks: self.networks,
            engines: self.engines,
        }
    }
}
