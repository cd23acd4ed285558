//! Many agents that report at the same time.

use crate::audit;
use crate::cluster::{TIMEOUT, apply, check, eventually, get, kubectl, run, try_run};
use crate::scene::{Scene, await_condition, wait_ready};
use crate::stolen::kubectl_with;
use k8s_openapi::jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use std::ops::Range;
use std::thread;

const NETWORKS: [&str; 2] = ["storm-1", "storm-2"];
const NODES: usize = 10;
/// Reports of each node, as fast as they can be written.
const ROUNDS: usize = 40;
const FAILURE: &str = "EngineUnreachable";

/// Nodes without kubelet and agent, gone when the test ends. Kubernetes' own controllers stand still meanwhile: they would give such nodes an agent's
/// pod, and soon call them NotReady.
struct Simulated;

impl Simulated {
    fn make() -> Self {
        let simulated = Self;
        run("component", &["stop", "kube-controller-manager"]);
        let conditions =
            json!([{"type": "Ready", "status": "True", "reason": "Simulated", "message": "nobody is there"}]);
        for number in 0..NODES {
            let metadata = json!({"name": name(number), "labels": {"scene": "storm"}});
            let status = json!({"conditions": conditions});
            apply(&json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}));
        }
        simulated
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let quiet = |program: &str, arguments: &[&str]| {
            if let Err(error) = try_run(program, arguments, "") {
                eprintln!("{error}");
            }
        };
        quiet("kubectl", &["delete", "nodes", "-l", "scene=storm", "--ignore-not-found", TIMEOUT]);
        quiet("component", &["start", "kube-controller-manager"]);
        for number in 0..NODES {
            quiet("kubectl", &["wait", "--for=delete", &format!("usns/{}", name(number)), TIMEOUT]);
        }
    }
}

fn name(number: usize) -> String {
    format!("storm-{number}")
}

/// What stands in for the agent of a simulated node.
struct Agent {
    number: usize,
    token: String,
    /// The generations of the node's state and of the networks.
    state: Value,
    networks: Vec<Value>,
}

impl Agent {
    /// Waits until the node has been told of the networks.
    fn of(number: usize) -> Self {
        let (state, networks) = eventually("the node is told", || {
            let state = get(&["usns", &name(number)]).ok_or("not yet")?;
            let all = state["spec"]["networks"].as_array().ok_or("none")?;
            let generation = |name| all.iter().find(|it| it["name"] == name).map(|it| it["generation"].clone());
            let networks: Option<Vec<Value>> = NETWORKS.into_iter().map(generation).collect();
            Ok((state["metadata"]["generation"].clone(), networks.ok_or_else(|| state["spec"].to_string())?))
        });
        // Nobody but an agent of that node may report.
        let bound = ["--bound-object-kind=Node", "--bound-object-name", &name(number)];
        let token = kubectl(&[["create", "token", "usnet-agent", "-n", "usnet-system"].as_slice(), &bound].concat());
        Self { number, token: token.trim().to_owned(), state, networks }
    }

    /// Writes one report after another.
    fn report(&self, rounds: Range<usize>) {
        let reports: Vec<Value> = rounds.map(|round| self.report_of(round)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": reports});
        let apply = [
            "apply",
            "--server-side",
            "--subresource=status",
            "--field-manager=usnet-agent",
            "--validate=false",
            "-f",
            "-",
        ];
        kubectl_with(&self.token, &apply, &list.to_string()).unwrap();
    }

    /// After the first round another node fails each time, and each has other pods.
    fn report_of(&self, round: usize) -> Value {
        let fails = round > 0 && (round + self.number) % NODES == NODES - 1;
        let report = |(name, generation): (&str, &Value)| {
            let attachments = attachments(self.number, round);
            let mut report =
                json!({"name": name, "generation": generation, "state": "Programmed", "attachments": attachments});
            if fails {
                report["state"] = "Failed".into();
                report["reason"] = FAILURE.into();
                report["message"] = message(round).into();
            }
            report
        };
        let networks: Vec<Value> = NETWORKS.into_iter().zip(&self.networks).map(report).collect();
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": name(self.number)},
            "status": {"observedGeneration": self.state, "networks": networks},
        })
    }
}

fn attachments(number: usize, round: usize) -> usize {
    round * NODES + number
}

fn message(round: usize) -> String {
    format!("as simulated in round {round}")
}

fn everywhere(agents: &[Agent], act: impl Fn(&Agent) + Sync) {
    thread::scope(|scope| agents.iter().for_each(|agent| drop(scope.spawn(|| act(agent)))));
}

/// Waits until the network says of its nodes what they said last.
fn await_truth(network: &str) {
    let last = ROUNDS - 1;
    let failed: Vec<usize> = (0..NODES).filter(|number| (last + number) % NODES == NODES - 1).collect();
    let failures: Vec<Value> = failed
        .iter()
        .map(|number| json!({"node": name(*number), "reason": FAILURE, "message": message(last)}))
        .collect();
    let programmed = NODES - failed.len();
    let counts = json!({
        "selected": NODES, "programmed": programmed, "failed": failed.len(), "unreachable": 0, "summary": format!("{programmed}/{NODES}"),
    });
    let all: usize = (0..NODES).map(|number| attachments(number, last)).sum();
    eventually("the last word is the truth", || {
        let status = get(&["usn", network]).unwrap()["status"].take();
        let is_true =
            status["failures"] == json!(failures) && status["nodes"] == counts && status["attachments"] == all;
        check(is_true, status.to_string())
    });
    await_condition(network, "Ready", "False", FAILURE);
}

#[test]
fn a_storm_of_reports_makes_one_status_a_second_and_ends_with_the_truth() {
    let scene = Scene::new("storm");
    let _simulated = Simulated::make();
    for network in NETWORKS {
        scene.apply_network(network, &json!({"nodeSelector": {"matchLabels": {"scene": "storm"}}}));
    }
    let agents: Vec<Agent> = (0..NODES).map(Agent::of).collect();
    everywhere(&agents, |agent| agent.report(0..1));
    NETWORKS.into_iter().for_each(wait_ready);

    let begin = Timestamp::now().to_string();
    everywhere(&agents, |agent| agent.report(1..ROUNDS));
    for network in NETWORKS {
        await_truth(network);
    }
    let requests = audit::since(&begin);
    let is_of = |event: &Value, resource: &str, name: &str| {
        audit::is_write(event) && audit::resource(event) == resource && event["objectRef"]["name"] == name
    };
    let reports: Vec<&Value> = requests
        .iter()
        .filter(|event| (0..NODES).any(|number| is_of(event, "userspacenodestates/status", &name(number))))
        .collect();
    assert_eq!(reports.len(), NODES * (ROUNDS - 1), "the storm was not as meant");
    let (first, last) = (time(reports[0]), time(reports[reports.len() - 1]));
    let seconds = (last - first).total(Unit::Second).unwrap();
    for network in NETWORKS {
        let statuses = requests.iter().filter(|event| is_of(event, "userspacenetworks/status", network));
        let count = statuses.filter(|event| (first..=last).contains(&time(event))).count();
        println!("{} reports in {seconds:.1} s: {count} statuses of {network}", reports.len());
        assert!(count as f64 <= seconds + 2.0, "{count} statuses of {network} in {seconds} s");
        assert!(count > 0, "the storm was over before the controller had seen it");
    }
}

fn time(event: &Value) -> Timestamp {
    audit::received(event).parse().unwrap()
}
