//! The mistakes of users, made with the real scheduler, kubelet, container runtime and Multus:
//! `kubectl usnet explain` names the cause and what to do, and never ends with status 0. Each has a
//! line in the output, with the seconds until it was explained.
//!
//! - [`annotations`]: the annotation of the pod;
//! - [`pods`]: volumes, containers and nodes; [`programs`]: programs that are not connected;
//! - [`networks`]: networks that nodes or the controller reject;
//! - [`claims`], [`attachments`], [`workloads`]: other objects than pods.

mod annotations;
mod attachments;
mod claims;
mod networks;
mod pods;
mod programs;
mod workloads;

use super::{list, text};
use crate::support::cluster::{TIMEOUT, apply, check, eventually, get, nodes};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::uplinks::Uplink;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "ask-wrong";
const VETH: &str = "ask-wrong-veth";
const ELSEWHERE: &str = "ask-wrong-b";
const FULL: &str = "ask-wrong-full";
const MEMIF: &str = "ask-wrong-vpp";
const CLAIMED: &str = "ask-wrong-claim";
/// The running pod on which others depend.
const HOLDER: &str = "holder";
/// How many questions are asked at once.
const WORKERS: usize = 3;

/// A mistake, and what is expected.
struct Mistake {
    /// In words.
    what: String,
    object: Value,
    /// What is explained, such as `pod`; its name is that of the object.
    kind: &'static str,
    cause: &'static str,
    /// Words of the remedy.
    remedy: &'static str,
    /// Words of an event, by which the text of another program is known.
    event: &'static str,
    explained: Option<Duration>,
}

impl Mistake {
    fn name(&self) -> &str {
        text(&self.object["metadata"], "name")
    }

    fn event(&mut self, words: &'static str) {
        self.event = words;
    }

    /// Whether the mistake is explained; otherwise the report. What runs may look well at first, as
    /// a program that has not been without its port for long.
    fn ask(&self) -> Result<(), String> {
        let (status, report) = ask(&["explain", self.kind, self.name(), "-n", NAME]);
        let waits = |part: &Value| part["state"].as_str().is_some_and(|state| state.starts_with("not attached"));
        let is_waiting = report["parts"].as_array().is_some_and(|parts| parts.iter().any(waits));
        assert!(status != 0 || !is_waiting, "{}: {report}", self.what);
        let is_it = |found: &Value| found["cause"] == self.cause && text(found, "remedy").contains(self.remedy);
        check(status != 0 && list(&report, "findings").iter().any(is_it), report.to_string())
    }
}

struct Mistakes<'a> {
    scene: &'a Scene,
    all: Vec<Mistake>,
}

impl Mistakes<'_> {
    fn add(
        &mut self,
        (kind, what): (&'static str, &str),
        object: Value,
        (cause, remedy): (&'static str, &'static str),
    ) -> &mut Mistake {
        let what = what.to_owned();
        self.all.push(Mistake { what, object, kind, cause, remedy, event: "", explained: None });
        self.all.last_mut().unwrap()
    }

    fn pod(&mut self, what: &str, pod: Value, expected: (&'static str, &'static str)) -> &mut Mistake {
        self.add(("pod", what), pod, expected)
    }

    /// A pod with this annotation.
    fn annotated(&mut self, what: &str, networks: &str, expected: (&'static str, &'static str)) -> &mut Mistake {
        let pod = self.sleeping(networks);
        self.pod(what, pod, expected)
    }

    /// A pod with a name of its own and this annotation.
    fn sleeping(&self, networks: &str) -> Value {
        sleeping_pod(self.scene, &format!("pod{}", self.all.len() + 1), networks)
    }

    fn apply(&self) {
        let items: Vec<&Value> = self.all.iter().map(|mistake| &mistake.object).collect();
        apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    }

    /// Asks about each until it is explained, several at once. A round of questions takes half a
    /// minute on a busy machine, so the time limit is for the next that is explained, not for all.
    fn await_explained(&mut self, since: Instant) {
        let (mut left, mut progress) = (self.all.len(), since);
        loop {
            let mut open: Vec<&mut Mistake> =
                self.all.iter_mut().filter(|mistake| mistake.explained.is_none()).collect();
            if open.is_empty() {
                return;
            }
            if open.len() < left {
                (left, progress) = (open.len(), Instant::now());
            }
            let share = open.len().div_ceil(WORKERS);
            let problems: Vec<String> = thread::scope(|scope| {
                let workers: Vec<_> =
                    open.chunks_mut(share).map(|part| scope.spawn(|| ask_about(part, since))).collect();
                workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
            });
            assert!(problems.is_empty() || progress.elapsed() < TIMEOUT, "{}", problems.join("\n"));
        }
    }

    /// The texts of other programs are still those that are known.
    fn await_events(&self) {
        eventually("the events", || {
            let events = get(&["events", "-n", NAME]).unwrap_or_default();
            let events = events["items"].as_array().cloned().unwrap_or_default();
            let of = |name: &str| {
                let messages = events.iter().filter(|event| event["involvedObject"]["name"] == name);
                messages.filter_map(|event| event["message"].as_str()).collect::<Vec<_>>().join(" ")
            };
            let missing = self.all.iter().find(|mistake| !of(mistake.name()).contains(mistake.event));
            missing.map_or(Ok(()), |it| Err(format!("{}: no {:?} in {}", it.what, it.event, of(it.name()))))
        });
    }

    fn print(&self) {
        for (index, Mistake { what, cause, explained, .. }) in self.all.iter().enumerate() {
            println!("{:2} {what}: {cause}, {:.1} s", index + 1, explained.unwrap_or_default().as_secs_f64());
        }
    }
}

/// Returns what is said of those that are not explained yet.
fn ask_about(mistakes: &mut [&mut Mistake], since: Instant) -> Vec<String> {
    let mut problems = Vec::new();
    for mistake in mistakes {
        match mistake.ask() {
            Ok(()) => mistake.explained = Some(since.elapsed()),
            Err(report) => problems.push(format!("{} ({}): {report}", mistake.what, mistake.name())),
        }
    }
    problems
}

/// The networks that work, and running pods on which others depend.
fn prepare(scene: &Scene) {
    let range = |subnet: &str, start: &str, end: &str| {
        let range = json!({"subnet": subnet, "rangeStart": start, "rangeEnd": end});
        json!({"type": "host-local", "ranges": [[range]]})
    };
    scene.apply_network(NAME, &json!({}));
    let ipam = range("10.56.92.0/24", "10.56.92.20", "10.56.92.30");
    scene.apply_network(VETH, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    let on_b = json!({"matchLabels": {"kubernetes.io/hostname": "node-b"}});
    scene.apply_network(ELSEWHERE, &json!({"port": {"type": "Veth"}, "nodeSelector": on_b}));
    let ipam = range("10.56.93.0/24", "10.56.93.9", "10.56.93.9");
    scene.apply_network(FULL, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    scene.apply_network(MEMIF, &json!({"engine": "VPP", "port": {"type": "Memif"}}));
    scene.apply_network(claims::PORTS, &json!({"resourceClaims": {"ports": 4}}));
    let other = json!({"matchLabels": {"scene": "another"}});
    scene.apply_network(CLAIMED, &json!({"namespaceSelector": other, "resourceClaims": {"ports": 4}}));
    [NAME, VETH, ELSEWHERE, FULL, MEMIF, claims::PORTS].into_iter().for_each(wait_ready);
    let holder = json!([{"name": VETH, "ips": ["10.56.92.25/24"]}, {"name": FULL}]).to_string();
    let mut pods = attachments::running_pods(scene);
    pods.push(sleeping_pod(scene, HOLDER, &holder));
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": pods}));
    pods.iter().for_each(|pod| wait_running(scene, text(&pod["metadata"], "name")));
}

#[test]
fn each_mistake_of_a_user_is_explained_with_what_to_do() {
    let uplink = Uplink::apply(&networks::without_nic());
    let scene = Scene::new(NAME);
    prepare(&scene);
    let mut mistakes = Mistakes { scene: &scene, all: Vec::new() };
    for add in [
        annotations::values,
        annotations::names,
        annotations::addresses,
        pods::volumes,
        pods::containers,
        pods::places,
        programs::add,
        networks::add,
        claims::add,
        attachments::add,
        workloads::add,
    ] {
        add(&mut mistakes);
    }
    assert!(nodes().len() == 2, "some of them need node-b");
    mistakes.apply();
    mistakes.await_explained(Instant::now());
    mistakes.await_events();
    mistakes.print();
    drop((scene, uplink));
}
