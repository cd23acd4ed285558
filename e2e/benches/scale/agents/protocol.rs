//! What the benchmark and the process of agents say to each other: one line of JSON each.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The first argument of the process of agents.
pub(crate) const ROLE: &str = "internal-agents";

/// The file that the process starts with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// A kubeconfig without its user's token.
    pub(crate) kubeconfig: Value,
    /// Agents that watch and report.
    pub(crate) agents: Vec<Identity>,
    /// Agents that only report, once, when they are asked to.
    pub(crate) silent: Vec<Identity>,
}

/// Who an agent is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) node: String,
    pub(crate) token: String,
}

/// A pod's interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub(crate) node: String,
    pub(crate) network: String,
    /// Namespace and name.
    pub(crate) pod: String,
}

/// What the benchmark asks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    /// Until every agent has reported for the first time.
    WaitUntilSynced,
    /// Until every agent has reported this resourceVersion.
    WaitForVersion(u64),
    /// Until the agents have reported these pods.
    Attach(Vec<Attachment>),
    /// Lets silent agents report so many networks, programmed up to this resourceVersion, and the
    /// generations of their node states.
    Report { version: u64, networks: usize, generations: BTreeMap<String, i64> },
}

/// The answer to each.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Whether it came to that within the limit.
    pub(crate) is_done: bool,
    pub(crate) stats: Stats,
}

/// What was sent since the last answer.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub(crate) writes: usize,
    /// Requests that were refused or not answered; they are repeated.
    pub(crate) failed: usize,
    pub(crate) bytes: usize,
    pub(crate) largest: usize,
}
