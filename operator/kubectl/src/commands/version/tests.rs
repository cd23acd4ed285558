use super::report::{Group, Kubernetes, Report, Surroundings, groups, report};
use super::text::text;
use crate::model::Pod;
use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::testing::{snapshot, usnet_pod};
use std::collections::BTreeMap;
use usnet_common::release::Build;

fn build(version: &str, commit: Option<&str>) -> Build {
    let date = commit.map(|_| "2026-11-25".to_owned());
    Build { version: version.to_owned(), commit: commit.map(str::to_owned), date }
}

fn answers(pods: &[Pod], answer: impl Fn(&str) -> Result<String, String>) -> Report {
    let asked = groups(pods).into_iter();
    let asked = asked.map(|(component, pods)| Group { component, answer: answer(component), pods }).collect();
    let kubelets = BTreeMap::from([("v1.36.0".to_owned(), vec!["node-a".to_owned(), "node-b".to_owned()])]);
    let kubernetes = Kubernetes { api_server: Some("v1.36.1".to_owned()), kubelets };
    let surroundings = Surroundings { states: snapshot().reports, kubernetes, ..Surroundings::default() };
    report(build("0.2.0", Some("8c2c1024")), asked, surroundings)
}

fn lines(report: &Report) -> Vec<String> {
    text(report).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn pods() -> [Pod; 4] {
    [
        usnet_pod(CONTROLLER, "node-a"),
        usnet_pod(CONTROLLER, "node-b"),
        usnet_pod(AGENT, "node-a"),
        usnet_pod(AGENT, "node-b"),
    ]
}

#[test]
fn pods_with_one_image_are_one_line_and_engines_and_kubernetes_have_theirs() {
    let report = answers(&pods(), |_| Ok("usnet 0.2.0 (commit 8c2c1024, 2026-11-25)\n".to_owned()));
    assert!(!report.versions_differ);
    assert_eq!(
        lines(&report),
        [
            "PROGRAM VERSION NUMBER NODES IMAGE",
            "client 0.2.0 (commit 8c2c1024, 2026-11-25)",
            "controller 0.2.0 (commit 8c2c1024, 2026-11-25) 2 pods node-a, node-b usnet:test",
            "agent 0.2.0 (commit 8c2c1024, 2026-11-25) 2 pods node-a, node-b usnet:test",
            "Open vSwitch 3.1.0 2 nodes node-a, node-b",
            "VPP 26.06 2 nodes node-a, node-b",
            "Kubernetes v1.36.1",
            "kubelet v1.36.0 2 nodes node-a, node-b",
        ]
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["agents"][0]["commit"], "8c2c1024", "{json}");
}

#[test]
fn a_difference_is_a_problem_and_says_what_to_upgrade() {
    let skew = |controller: &str, agent: &str| {
        let answer = |component: &str| Ok(format!("usnet {}\n", if component == AGENT { agent } else { controller }));
        let report = answers(&pods(), answer);
        assert_eq!(report.versions_differ, !report.skew.is_empty(), "{report:?}");
        report.skew
    };
    assert_eq!(
        skew("0.2.0", "0.2.0 (commit 8c2c1024, 2026-11-25)"),
        [""; 0],
        "a build without a commit may be the same"
    );
    let behind = skew("0.2.0", "0.1.9");
    assert!(behind.len() == 1 && behind[0].ends_with("upgrade the agents"), "{behind:?}");
    let ahead = skew("0.2.0", "0.10.0");
    assert!(ahead[0].ends_with("upgrade the controllers"), "{ahead:?}");
    let other = skew("0.2.0 (commit 777777, 2026-11-26)", "0.2.0 (commit 777777, 2026-11-26)");
    assert!(other.len() == 1 && other[0].ends_with("use the kubectl-usnet of that release"), "{other:?}");
}

#[test]
fn agents_of_two_builds_are_an_upgrade_and_a_pod_that_does_not_respond_is_no_difference() {
    let mut old = usnet_pod(AGENT, "node-b");
    old.containers[0].image_id = "sha256:old".to_owned();
    let pods = [usnet_pod(CONTROLLER, "node-a"), usnet_pod(AGENT, "node-a"), old];
    let asked = groups(&pods).into_iter().map(|(component, pods)| {
        let is_old = pods[0].containers[0].image_id == "sha256:old";
        Group { component, pods, answer: Ok(format!("usnet 0.{}.0", if is_old { 1 } else { 2 })) }
    });
    let report = report(build("0.2.0", None), asked.collect(), Surroundings::default());
    assert!(report.versions_differ && report.agents.len() == 2);
    assert!(text(&report).contains("The versions differ\n  agents are of different builds"), "{}", text(&report));
    let report = answers(&pods, |_| Err("pods \"x\" is forbidden".to_owned()));
    assert!(!report.versions_differ);
    let text = text(&report);
    assert!(text.contains("the version of image usnet:test: pods \"x\" is forbidden"), "{text}");
}
