//! What the agent is asked for and what it answers, without anything of the API server: the loop takes the one and gives the other, and tests
//! stand where the API server is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeSet;
use usnet_crds::conditions::{self, Finding};
use usnet_crds::node_state::{EngineReport, NetworkReport, UserspaceNodeStateStatus, summary};
use usnet_crds::{Engine, NetworkName, NodeNetwork};

/// What the node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The networks of the node.
    pub networks: Vec<NodeNetwork>,
}

/// What one engine of the node should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EngineSpec {
    /// The generation of the whole.
    pub generation: i64,
    /// The networks of this engine.
    pub networks: Vec<NodeNetwork>,
    /// The node's other networks.
    pub elsewhere: BTreeSet<NetworkName>,
}

impl NodeSpec {
    /// The part of one engine.
    pub(super) fn of(&self, engine: Engine) -> EngineSpec {
        let (own, other): (Vec<_>, Vec<_>) = self.networks.iter().partition(|network| network.engine == engine);
        EngineSpec {
            generation: self.generation,
            networks: own.into_iter().cloned().collect(),
            elsewhere: other.into_iter().map(|network| network.name.clone()).collect(),
        }
    }
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
