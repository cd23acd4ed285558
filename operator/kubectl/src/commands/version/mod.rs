//! `kubectl usnet version`: this program, the controllers and the agents, and whether they differ.
//! Pods with the same image run the same program, so only one of them is queried.

use super::shared::{join_first, unread_text};
use crate::api::{Cluster, Scope, run_usnet};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::{Pod, Unread};
use crate::output::{Format, Output, count, render, table};
use k8s_openapi::api::core::v1;
use serde::Serialize;
use std::collections::BTreeMap;

const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    client: String,
    controllers: Vec<Program>,
    agents: Vec<Program>,
    /// Whether a known version differs from that of this program.
    versions_differ: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_read: Vec<Unread>,
}

/// The pods with one image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Program {
    /// `None` if the queried pod did not respond.
    version: Option<String>,
    image: String,
    pods: usize,
    nodes: Vec<String>,
}

/// The pods with one image, and the response of one of them.
#[derive(Debug)]
struct Group<'a> {
    component: &'static str,
    pods: Vec<&'a Pod>,
    answer: Result<String, String>,
}

pub(crate) async fn run(cluster: &Cluster, format: Format) -> Result<Output, Error> {
    let namespace = &cluster.usnet_namespace;
    let pods = cluster.list(Scope::Namespace(namespace), None, |pod: v1::Pod| Pod::from(pod)).await?.objects;
    let groups = groups(&pods);
    if groups.is_empty() {
        return Err(Error::NotFound {
            kind: "pod of usnet in namespace",
            name: namespace.clone(),
            suggestion: ": install usnet, or use --usnet-namespace".to_owned(),
        });
    }
    let ask = async |(component, pods): (&'static str, Vec<&Pod>)| {
        let running = pods.iter().find(|pod| pod.container(component).is_some_and(|container| container.is_running));
        let asked = running.or(pods.first());
        let answer = match asked {
            Some(pod) => run_usnet(cluster, pod, component, &["--version"]).await,
            None => Err("there is no pod".to_owned()),
        };
        (component, answer)
    };
    let answers = futures::future::join_all(groups.iter().cloned().map(ask)).await;
    let asked =
        groups.into_iter().zip(answers).map(|((component, pods), (_, answer))| Group { component, pods, answer });
    let report = report(asked.collect());
    let exit_status = if report.versions_differ { PROBLEM } else { SUCCESS };
    Ok(Output { text: render(&report, format, text)?, exit_status })
}

/// Groups the pods of controllers and agents by image.
fn groups(pods: &[Pod]) -> Vec<(&'static str, Vec<&Pod>)> {
    let mut groups: BTreeMap<(&'static str, &str), Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.has_ended()) {
        let Some(component) = [CONTROLLER, AGENT].into_iter().find(|it| pod.component.as_deref() == Some(it)) else {
            continue;
        };
        let Some(container) = pod.container(component) else { continue };
        let image = if container.image_id.is_empty() { &container.image } else { &container.image_id };
        groups.entry((component, image)).or_default().push(pod);
    }
    groups.into_iter().map(|((component, _), pods)| (component, pods)).collect()
}

fn report(asked: Vec<Group<'_>>) -> Report {
    let (mut controllers, mut agents, mut not_read) = (Vec::new(), Vec::new(), Vec::new());
    for Group { component, pods, answer } in asked {
        let image = pods.first().and_then(|pod| pod.container(component)).map(|it| it.image.clone());
        let image = image.unwrap_or_default();
        if let Err(why) = &answer {
            not_read.push(Unread { what: format!("the version of image {image}"), why: why.clone() });
        }
        let version = answer.ok().map(|text| text.split_whitespace().last().unwrap_or_default().to_owned());
        let nodes = pods.iter().filter_map(|pod| pod.node.clone()).collect();
        let program = Program { version, image, pods: pods.len(), nodes };
        if component == AGENT { &mut agents } else { &mut controllers }.push(program);
    }
    let known = controllers.iter().chain(&agents).filter_map(|program| program.version.as_deref());
    let versions_differ = known.into_iter().any(|version| version != CLIENT_VERSION);
    Report { client: CLIENT_VERSION.to_owned(), controllers, agents, versions_differ, not_read }
}

fn text(report: &Report) -> String {
    let row = |program: &str, found: &Program| {
        let version = found.version.clone().unwrap_or_else(|| "unknown".to_owned());
        [program.to_owned(), version, count(found.pods, "pod"), join_first(&found.nodes, 5), found.image.clone()]
    };
    let client = ["client".to_owned(), report.client.clone(), String::new(), String::new(), String::new()];
    let controllers = report.controllers.iter().map(|found| row("controller", found));
    let agents = report.agents.iter().map(|found| row("agent", found));
    let rows: Vec<_> = [client].into_iter().chain(controllers).chain(agents).collect();
    let mut text = table(["PROGRAM", "VERSION", "PODS", "NODES", "IMAGE"], &rows);
    if report.versions_differ {
        text.push_str(
            "\nThe versions differ: use the same release for controllers, agents and this program; controllers are upgraded first.\n",
        );
    }
    text + &unread_text(&report.not_read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::usnet_pod;

    fn answers(pods: &[Pod], answer: impl Fn(&str) -> Result<String, String>) -> Report {
        let asked = groups(pods).into_iter();
        report(asked.map(|(component, pods)| Group { component, answer: answer(component), pods }).collect())
    }

    #[test]
    fn pods_with_one_image_are_one_line() {
        let pods = [
            usnet_pod(CONTROLLER, "node-a"),
            usnet_pod(CONTROLLER, "node-b"),
            usnet_pod(AGENT, "node-a"),
            usnet_pod(AGENT, "node-b"),
        ];
        let report = answers(&pods, |_| Ok(format!("usnet {CLIENT_VERSION}\n")));
        assert!(!report.versions_differ);
        let lines: Vec<_> =
            text(&report).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "PROGRAM VERSION PODS NODES IMAGE".to_owned(),
                format!("client {CLIENT_VERSION}"),
                format!("controller {CLIENT_VERSION} 2 pods node-a, node-b usnet:test"),
                format!("agent {CLIENT_VERSION} 2 pods node-a, node-b usnet:test"),
            ]
        );
    }

    #[test]
    fn a_difference_is_a_problem_but_a_pod_that_does_not_respond_is_not() {
        let mut old = usnet_pod(AGENT, "node-b");
        old.containers[0].image_id = "sha256:old".to_owned();
        let pods = [usnet_pod(AGENT, "node-a"), old];
        let report = answers(&pods, |_| Ok("usnet 0.0.9\n".to_owned()));
        assert!(report.versions_differ && report.agents.len() == 2);
        assert!(text(&report).contains("The versions differ"));
        let report = answers(&pods, |_| Err("pods \"x\" is forbidden".to_owned()));
        assert!(!report.versions_differ);
        assert!(
            text(&report).contains("the version of image usnet:test: pods \"x\" is forbidden"),
            "{}",
            text(&report)
        );
    }
}
