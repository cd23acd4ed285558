//! What is on the page, and how it is read.

use crate::api::Cluster;
use crate::commands::graph::report::{Graph, graph};
use crate::commands::{history, status, top};
use crate::error::Error;
use crate::model::{Snapshot, Unread};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;

/// How old the oldest change is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since(pub SignedDuration);

#[derive(Debug, Default)]
pub(crate) struct Content {
    pub now: Timestamp,
    /// The address of the API server; empty if it is not known.
    pub server: String,
    pub status: status::report::Report,
    pub graph: Graph,
    pub traffic: top::Report,
    pub history: history::Report,
    pub since: SignedDuration,
    pub not_read: Vec<Unread>,
}

/// Reads counters and changes from all agents: rates over this interval in seconds, or totals. The
/// snapshot has the pods of users.
pub(crate) async fn read(
    cluster: &Cluster,
    snapshot: &Snapshot,
    interval: Option<u64>,
    since: Since,
) -> Result<Content, Error> {
    let (ports, changes) = (top::Options::all(interval), history::Options::since(since.0));
    let traffic = top::read(cluster, snapshot, &ports);
    let (traffic, history) = futures::join!(traffic, history::read(cluster, snapshot, &changes));
    Ok(content(snapshot, cluster.server.clone(), (traffic?, history?), since))
}

pub(crate) fn content(
    snapshot: &Snapshot,
    server: String,
    (traffic, history): (top::Report, history::Report),
    since: Since,
) -> Content {
    let unread = snapshot.unread.iter().chain(&traffic.not_read).chain(&history.not_read);
    let not_read: BTreeSet<Unread> = unread.cloned().collect();
    Content {
        now: snapshot.now,
        server,
        status: status::report::report(snapshot),
        graph: graph(snapshot, None),
        traffic,
        history,
        since: since.0,
        not_read: not_read.into_iter().collect(),
    }
}
