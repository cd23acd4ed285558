//! Functions that several commands use.

use crate::api::{Cluster, run_on_nodes};
use crate::error::Error;
use crate::model::{Objects, Pod, Snapshot, Unread};
use crate::output::{age, line, title};
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// Returns the section of a text that lists what could not be read; empty if everything was.
pub(crate) fn unread_text(unread: &[Unread]) -> String {
    let mut text = String::new();
    if !unread.is_empty() {
        let _ = writeln!(text, "\n{}", title("NOT READ, so the output may be incomplete"));
    }
    for entry in unread {
        let _ = writeln!(text, "  {}: {}", line(&entry.what), line(&entry.why));
    }
    text
}

/// Returns the age of a time, for users.
pub(crate) fn age_at(now: Timestamp, time: Option<Timestamp>) -> String {
    let seconds = time.map(|time| now.duration_since(time).as_secs());
    seconds.map_or_else(String::new, |seconds| age(u64::try_from(seconds).unwrap_or_default()))
}

/// Returns the agents of the nodes for which `is_node` holds, and those nodes that have no agent.
pub(crate) fn agents(snapshot: &Snapshot, is_node: impl Fn(&str) -> bool) -> (Vec<&Pod>, Vec<Unread>) {
    let (mut agents, mut unread) = (Vec::new(), Vec::new());
    for node in snapshot.cache.states.keys().filter(|node| is_node(node)) {
        match snapshot.agent(node) {
            Some(agent) => agents.push(agent),
            None => unread.push(Unread { what: format!("node {node}"), why: "it has no agent".to_owned() }),
        }
    }
    (agents, unread)
}

/// Runs `usnet` with these arguments, which make it print JSON, in the containers of all agents, or
/// of one node's agent. Also returns what could not be read, including nodes without an agent.
pub(crate) async fn query_agents<'a, T: DeserializeOwned>(
    cluster: &Cluster,
    snapshot: &'a Snapshot,
    node: Option<&str>,
    arguments: &[&str],
) -> Result<(Vec<(&'a Pod, Result<T, String>)>, Vec<Unread>), Error> {
    let is_unknown = |node: &&str| snapshot.has_read(Objects::States) && !snapshot.cache.states.contains_key(*node);
    if let Some(name) = node.filter(is_unknown) {
        let suggestion = " with an agent of usnet: kubectl get usns".to_owned();
        return Err(Error::NotFound { kind: "node", name: name.to_owned(), suggestion });
    }
    let (agents, without_agent) = agents(snapshot, |name| node.is_none_or(|chosen| chosen == name));
    let parse = |text: &str| serde_json::from_str::<T>(text).map_err(|error| error.to_string());
    let answers = run_on_nodes(cluster, agents, "agent", arguments, parse).await;
    Ok((answers, snapshot.unread.iter().cloned().chain(without_agent).collect()))
}

/// Joins the first items of a list, and counts the others.
pub(crate) fn join_first(items: &[String], most: usize) -> String {
    let named = items.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = items.len().saturating_sub(most);
    if more == 0 { named } else { format!("{named} and {more} more") }
}
