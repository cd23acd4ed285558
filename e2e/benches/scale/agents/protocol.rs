//! The protocol between the benchmark and the process of agents: each message is one line of JSON.

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
    /// Agents that report only once, on command.
    pub(crate) silent: Vec<Identity>,
}

/// The identity of an agent.
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
    /// The pod as `namespace/name`.
    pub(crate) pod: String,
}

/// A command of the benchmark.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    /// Waits until every agent has reported for the first time.
    WaitUntilSynced,
    /// Waits until every agent has reported this resourceVersion.
    WaitForVersion(u64),
    /// Attaches these interfaces, and waits until the agents have reported them.
    Attach(Vec<Attachment>),
    /// Makes silent agents report this number of networks, programmed up to this resourceVersion,
    /// and the generations of their node states.
    Report { version: u64, networks: usize, generations: BTreeMap<String, i64> },
}

/// The response to a command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Whether the command completed within the time limit.
    pub(crate) is_done: bool,
    pub(crate) stats: Stats,
}

/// The requests since the last response.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub(crate) writes: usize,
    /// The number of failed requests, which are repeated.
    pub(crate) failed: usize,
    pub(crate) bytes: usize,
    pub(crate) largest: usize,
}
