//! An agent with the API server of `slow_api_server`: each report is written once, none is lost,
//! and failed requests are not repeated without a pause.

use crate::control_plane::slow_api_server::{assert_not_repeated, counts, once_each};
use crate::support::cluster::{check, eventually, kubectl, timeout, try_run};
use crate::support::proxy::agent::ProxiedAgent;
use crate::support::proxy::server::{Fault, RecordedRequest};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Most statuses for the four changes of a trial: each may be on its way first, and then done.
const STATUSES_MAX: usize = 12;
/// The kinds that an agent watches: compiled networks, the state of its node, and uplinks.
const WATCHES: usize = 3;

/// An agent that has two networks programmed.
struct Trial {
    name: &'static str,
    /// Goes before the scene, whose namespace needs Kubernetes' controllers to go.
    agent: ProxiedAgent,
    scene: Scene,
    begun: Instant,
}

impl Trial {
    fn begin(name: &'static str) -> Self {
        let (scene, agent) = (Scene::new(name), ProxiedAgent::start(name));
        let mut trial = Self { name, agent, scene, begun: Instant::now() };
        for network in ["edited", "gone"] {
            trial.apply(network, &json!({}));
            wait_ready(&trial.network(network));
        }
        trial.begun = Instant::now();
        trial
    }

    fn network(&self, which: &str) -> String {
        format!("{}-{which}", self.name)
    }

    fn apply(&self, which: &str, spec: &Value) {
        let mut spec = spec.clone();
        spec["nodeSelector"] = json!({"matchLabels": {"scene": self.name}});
        self.scene.apply_network(&self.network(which), &spec);
    }

    /// Networks change, go and come.
    fn change(&self) {
        self.apply("edited", &json!({"bridge": {"mtu": 1400}}));
        kubectl(&["delete", "usn", &self.network("gone"), "--wait=false"]);
        self.apply("new", &json!({}));
    }

    /// The changes are carried out, and at most so many statuses were written twice after each
    /// other.
    fn assert_all_is_well(&self, repeated: usize) {
        for network in ["edited", "new"] {
            wait_ready(&self.network(network));
        }
        kubectl(&["wait", "--for=delete", &format!("usn/{}", self.network("gone")), timeout()]);
        let bridge = format!("br-{}", self.network("edited"));
        assert_eq!(self.agent.switch.vsctl(&["get", "Interface", &bridge, "mtu_request"]).unwrap().trim(), "1400");
        let all = self.agent.proxy().requests_since(self.begun);
        let statuses = all.iter().filter(|asked| asked.is_write() && asked.is_executed());
        let statuses: Vec<_> = statuses.map(|asked| (asked.path.clone(), asked.body)).collect();
        let twice = statuses.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(twice <= repeated, "{twice} statuses were written twice");
        assert!(statuses.len() <= STATUSES_MAX, "{} statuses", statuses.len());
        println!("{}: {} requests, {} statuses", self.name, all.len(), statuses.len());
        assert_not_repeated(all, self.begun.elapsed());
    }

    /// Waits until each of its watches began that often.
    fn await_watches(&self, count: u32) {
        eventually("each watch begins again", || {
            let all = self.agent.proxy().requests_since(self.begun);
            let reads = all.into_iter().filter(|asked| asked.is_watch || asked.is_probe());
            let watches = counts(reads.map(|asked| asked.path));
            check(watches.len() == WATCHES && watches.values().all(|begun| *begun >= count), format!("{watches:?}"))
        });
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.agent.proxy().plan(|_| None);
        for network in ["edited", "gone", "new"] {
            let gone =
                try_run("kubectl", &["delete", "usn", &self.network(network), "--ignore-not-found", timeout()], "");
            if let Err(error) = gone {
                eprintln!("{error}");
            }
        }
    }
}

#[test]
fn an_agent_whose_api_server_takes_two_seconds_for_each_response_reports_once() {
    let trial = Trial::begin("tardy");
    trial.agent.proxy().plan(|_| Some(Fault::Delay(Duration::from_secs(2))));
    trial.change();
    trial.assert_all_is_well(0);
}

#[test]
fn an_agent_respects_retry_after() {
    let trial = Trial::begin("busy");
    trial.agent.proxy().plan(|_| Some(Fault::TooManyRequests));
    trial.agent.proxy().end_watches();
    trial.change();
    trial.await_watches(3);
    trial.agent.proxy().plan(|_| None);
    trial.assert_all_is_well(0);
}

#[test]
fn a_report_whose_response_is_lost_is_repeated_at_most_once() {
    let trial = Trial::begin("deaf");
    trial.agent.proxy().plan(once_each(Fault::LoseResponse, RecordedRequest::is_write));
    trial.change();
    // An agent does not read its own status; to write what is there already changes nothing.
    trial.assert_all_is_well(1);
}

#[test]
fn watches_of_an_agent_that_end_every_second_lose_nothing() {
    let trial = Trial::begin("brief");
    trial.agent.proxy().plan(|asked| asked.is_watch.then_some(Fault::EndWatch(Duration::from_secs(1))));
    trial.agent.proxy().end_watches();
    trial.await_watches(2);
    trial.change();
    trial.await_watches(6);
    trial.assert_all_is_well(0);
}

#[test]
fn watches_of_an_agent_that_have_expired_lose_nothing() {
    let trial = Trial::begin("stale");
    // Nothing is seen of what changes.
    trial.agent.proxy().plan(|asked| (asked.method == "GET").then_some(Fault::Disconnect));
    trial.agent.proxy().end_watches();
    trial.change();
    trial.agent.proxy().plan(once_each(Fault::Expire, |asked| asked.is_watch));
    trial.assert_all_is_well(0);
}
