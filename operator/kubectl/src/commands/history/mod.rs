//! `kubectl usnet history`: the output of `usnet node history` of all nodes, merged by time.

use super::shared::{query_agents, unread_text};
use crate::api::{Cluster, read_usnet};
use crate::error::{Error, SUCCESS};
use crate::model::{Pod, Snapshot, Unread};
use crate::output::{Format, Output, line, render, table};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use usnet_crds::NetworkName;
use usnet_node_output::history::Change;

/// Options of `kubectl usnet history`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only the changes on this node.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Only the changes of this network.
    #[arg(long, value_name = "NAME")]
    network: Option<NetworkName>,
    /// Only the changes of the last DURATION, such as 30m or 2h.
    #[arg(long, value_name = "DURATION")]
    since: Option<SignedDuration>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub changes: Vec<NodeChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Serialize)]
pub(crate) struct NodeChange {
    pub node: String,
    #[serde(flatten)]
    pub change: Change,
}

impl Options {
    /// Returns the options for all changes of this duration.
    pub(crate) const fn since(duration: SignedDuration) -> Self {
        Self { node: None, network: None, since: Some(duration) }
    }
}

pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let report = read(cluster, &read_usnet(cluster).await?, options).await?;
    Ok(Output { text: render(&report, format, text)?, exit_status: SUCCESS })
}

pub(crate) async fn read(cluster: &Cluster, snapshot: &Snapshot, options: &Options) -> Result<Report, Error> {
    let mut arguments = vec!["node", "history", "-o", "json"];
    arguments.extend(options.network.iter().flat_map(|network| ["--network", network.as_str()]));
    let (answers, unread) = query_agents(cluster, snapshot, options.node.as_deref(), &arguments).await?;
    let since = options.since.and_then(|since| snapshot.now.checked_sub(since).ok());
    Ok(report(answers, unread, since))
}

fn report(
    answers: Vec<(&Pod, Result<Vec<Change>, String>)>,
    mut unread: Vec<Unread>,
    since: Option<Timestamp>,
) -> Report {
    let mut changes = Vec::new();
    for (agent, answer) in answers {
        let node = agent.node.clone().unwrap_or_default();
        match answer {
            Ok(of_node) => changes.extend(of_node.into_iter().map(|change| NodeChange { node: node.clone(), change })),
            Err(why) => unread.push(Unread { what: format!("the history of node {node}"), why }),
        }
    }
    changes.retain(|entry| since.is_none_or(|since| entry.change.time.0 >= since));
    changes.sort_by(|one, other| (one.change.time.0, &one.node).cmp(&(other.change.time.0, &other.node)));
    Report { changes, not_read: unread }
}

fn text(report: &Report) -> String {
    let row = |NodeChange { node, change }: &NodeChange| {
        [
            change.time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            node.clone(),
            change.engine.map(|engine| engine.to_string()).unwrap_or_default(),
            change.network.clone().unwrap_or_default(),
            line(&change.operation),
            change.cause.to_string(),
            line(&change.outcome.to_string()),
        ]
    };
    let rows: Vec<_> = report.changes.iter().map(row).collect();
    let table = table(["TIME", "NODE", "ENGINE", "NETWORK", "OPERATION", "WHY", "RESULT"], &rows);
    table + &unread_text(&report.not_read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::AGENT;
    use crate::model::testing::usnet_pod;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use usnet_node_output::history::{Cause, Outcome};

    fn change(second: i64) -> Change {
        Change {
            time: MicroTime(Timestamp::from_second(second).unwrap()),
            engine: None,
            network: Some("blue".into()),
            attachment: None,
            operation: format!("number {second}\u{1b}[2J"),
            cause: Cause::NewSpec,
            generation: None,
            milliseconds: 1,
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn changes_of_all_nodes_are_merged_by_time_and_an_unreachable_node_is_named() {
        let agents = ["node-a", "node-b", "node-c"].map(|node| usnet_pod(AGENT, node));
        let answers = vec![
            (&agents[0], Ok(vec![change(1), change(3)])),
            (&agents[1], Err("no route to host".to_owned())),
            (&agents[2], Ok(vec![change(2)])),
        ];
        let report = report(answers, Vec::new(), Timestamp::from_second(2).ok());
        let text = text(&report);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "TIME NODE ENGINE NETWORK OPERATION WHY RESULT",
                "1970-01-01T00:00:02Z node-c blue number 2\\u{1b}[2J new spec done",
                "1970-01-01T00:00:03Z node-a blue number 3\\u{1b}[2J new spec done",
                "",
                "NOT READ, so the output may be incomplete",
                "the history of node node-b: no route to host",
            ]
        );
    }
}
