//! Many agents that report at the same time.

use crate::support::cluster::{check, eventually, get};
use crate::support::control_plane::audit;
use crate::support::control_plane::simulated_nodes::{SimulatedAgent, SimulatedNodes};
use crate::support::scene::{Scene, await_condition, wait_ready};
use k8s_openapi::jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use std::ops::Range;
use std::thread;

const NETWORKS: [&str; 2] = ["storm-1", "storm-2"];
const NODES: usize = 10;
/// Reports of each node, as fast as they can be written.
const ROUNDS: usize = 40;
const FAILURE: &str = "EngineRefused";

/// The simulated agent of a simulated node.
struct Agent(SimulatedAgent);

impl Agent {
    /// Writes one report after another.
    fn report(&self, rounds: Range<usize>) {
        self.0.report(rounds.map(|round| self.networks(round)));
    }

    /// After the first round another node fails each time, and each has other pods.
    fn networks(&self, round: usize) -> Value {
        let fails = round > 0 && (round + self.0.number) % NODES == NODES - 1;
        let report = |name: &str| {
            let attachments = attachments(self.0.number, round);
            let mut report = json!({"name": name, "generation": 1, "state": "Programmed", "attachments": attachments});
            if fails {
                report["state"] = "Failed".into();
                report["reason"] = FAILURE.into();
                report["message"] = message(round).into();
            }
            report
        };
        NETWORKS.into_iter().map(report).collect()
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
fn await_truth(nodes: &SimulatedNodes, network: &str) {
    let last = ROUNDS - 1;
    let failed: Vec<usize> = (0..NODES).filter(|number| (last + number) % NODES == NODES - 1).collect();
    let failures: Vec<Value> = failed
        .iter()
        .map(|number| json!({"node": nodes.name(*number), "reason": FAILURE, "message": message(last)}))
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
fn a_storm_of_reports_causes_one_status_per_second_and_the_last_is_correct() {
    let scene = Scene::new("storm");
    let nodes = SimulatedNodes::create("storm", NODES);
    for network in NETWORKS {
        scene.apply_network(network, &json!({"nodeSelector": {"matchLabels": {"scene": "storm"}}}));
    }
    let agents: Vec<Agent> = (0..NODES).map(|number| Agent(nodes.agent(number, &NETWORKS))).collect();
    everywhere(&agents, |agent| agent.report(0..1));
    NETWORKS.into_iter().for_each(wait_ready);

    let begin = Timestamp::now().to_string();
    everywhere(&agents, |agent| agent.report(1..ROUNDS));
    for network in NETWORKS {
        await_truth(&nodes, network);
    }
    let requests = audit::since(&begin);
    let is_of = |event: &Value, resource: &str, name: &str| {
        audit::is_write(event) && audit::resource(event) == resource && event["objectRef"]["name"] == name
    };
    let reports: Vec<&Value> = requests
        .iter()
        .filter(|event| (0..NODES).any(|number| is_of(event, "userspacenodestates/status", &nodes.name(number))))
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
