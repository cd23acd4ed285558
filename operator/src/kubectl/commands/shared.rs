//! What the texts of all commands have in common.

use crate::kubectl::api::{Cluster, each_node};
use crate::kubectl::error::Error;
use crate::kubectl::model::{Gap, Pod, Snapshot};
use crate::kubectl::output::{age, line};
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// What could not be read, as the end of a text; empty if all was.
pub(crate) fn gaps_text(gaps: &[Gap]) -> String {
    let mut text = String::new();
    if !gaps.is_empty() {
        text.push_str("\nNOT READ, so that the answer may be incomplete\n");
    }
    for gap in gaps {
        let _ = writeln!(text, "  {}: {}", line(&gap.what), line(&gap.why));
    }
    text
}

/// How long ago that was.
pub(crate) fn ago(now: Timestamp, time: Option<Timestamp>) -> String {
    let seconds = time.map(|time| now.duration_since(time).as_secs());
    seconds.map_or_else(String::new, |seconds| age(u64::try_from(seconds).unwrap_or_default()))
}

/// The agents that run, and what is said of the nodes of the others.
pub(crate) fn agents(snapshot: &Snapshot, is_node: impl Fn(&str) -> bool) -> (Vec<&Pod>, Vec<Gap>) {
    let (mut agents, mut gaps) = (Vec::new(), Vec::new());
    for node in snapshot.cache.states.keys().filter(|node| is_node(node)) {
        match snapshot.agent(node) {
            Some(agent) => agents.push(agent),
            None => gaps.push(Gap { what: format!("node {node}"), why: "it has no agent".to_owned() }),
        }
    }
    (agents, gaps)
}

/// Runs `usnet` with these arguments, which make it print JSON, in the containers of all agents, or
/// in that of one node. Also returns the gaps of the snapshot, with those of nodes without an
/// agent.
///
/// # Errors
/// When there is no such node.
pub(crate) async fn ask_agents<'a, T: DeserializeOwned>(
    cluster: &Cluster,
    snapshot: &'a Snapshot,
    node: Option<&str>,
    arguments: &[&str],
) -> Result<(Vec<(&'a Pod, Result<T, String>)>, Vec<Gap>), Error> {
    if let Some(name) = node.filter(|node| !snapshot.cache.states.contains_key(*node)) {
        let suggestion = " with an agent of usnet: kubectl get usns".to_owned();
        return Err(Error::NotFound { kind: "node", name: name.to_owned(), suggestion });
    }
    let (agents, without_agent) = agents(snapshot, |name| node.is_none_or(|chosen| chosen == name));
    let parse = |text: &str| serde_json::from_str::<T>(text).map_err(|error| error.to_string());
    let answers = each_node(cluster, agents, "agent", arguments, parse).await;
    Ok((answers, snapshot.gaps.iter().cloned().chain(without_agent).collect()))
}

/// Items of a list on one line, the first few of them.
pub(crate) fn some(items: &[String], most: usize) -> String {
    let named = items.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = items.len().saturating_sub(most);
    if more == 0 { named } else { format!("{named} and {more} more") }
}
