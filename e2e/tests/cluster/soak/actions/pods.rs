//! Pods of the run: the plugin is called for each as by a container runtime, one call after the
//! other, in parallel for all pods.

use crate::soak::actions::manifests;
use crate::soak::steps::PODS;
use crate::soak::steps::names;
use crate::soak::trace::Trace;
use crate::support::direct_cni::DirectPods;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// The state of a pod.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// With the network configuration that Multus would pass.
    Add {
        namespace: usize,
        config: Value,
        killed_after: Option<Duration>,
    },
    Delete,
}

/// The number of calls by their result.
pub(crate) type Outcomes = BTreeMap<String, usize>;

/// The pods, each with a thread that calls the plugin.
pub(crate) struct Pods<'scope> {
    calls: Vec<Sender<Call>>,
    threads: Vec<ScopedJoinHandle<'scope, Outcomes>>,
}

impl<'scope> Pods<'scope> {
    pub(crate) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        nodes: &'env [DirectPods; 2],
        trace: &'env Trace,
    ) -> Self {
        let (mut calls, mut threads) = (Vec::new(), Vec::new());
        for pod in 0..PODS {
            let (sender, receiver) = channel();
            calls.push(sender);
            threads.push(scope.spawn(move || execute(&nodes[node_of(pod)], pod, &receiver, trace)));
        }
        Self { calls, threads }
    }

    pub(crate) fn call(&self, pod: usize, call: Call) {
        self.calls[pod].send(call).expect("a pod's thread ends only after its last call, unless its test failed");
    }

    /// Waits until all calls have ended, and says how they did.
    pub(crate) fn end(self) -> Outcomes {
        drop(self.calls);
        let mut all = Outcomes::new();
        for outcomes in self.threads.into_iter().map(|thread| thread.join().expect("a pod's calls end well")) {
            outcomes.into_iter().for_each(|(outcome, count)| *all.entry(outcome).or_default() += count);
        }
        all
    }
}

/// The node that a pod is on.
pub(crate) const fn node_of(pod: usize) -> usize {
    pod % 2
}

fn execute(node: &DirectPods, pod: usize, calls: &Receiver<Call>, trace: &Trace) -> Outcomes {
    let mut outcomes = Outcomes::new();
    // What a runtime repeats at DEL is the configuration of the last ADD.
    let mut last = unused();
    while let Ok(call) = calls.recv() {
        let outcome = match call {
            Call::Add { namespace, config, killed_after } => {
                node.create_volume(pod);
                last = (names::namespace(namespace), config);
                let child = node.start("ADD", &last.0, &last.1, pod).unwrap();
                match killed_after {
                    Some(after) => kill(child, after),
                    None => ended("ADD", child, trace),
                }
            }
            Call::Delete => delete(node, pod, &last, trace),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    outcomes
}

/// Calls DEL until it succeeds, as a runtime does.
fn delete(node: &DirectPods, pod: usize, (namespace, config): &(String, Value), trace: &Trace) -> String {
    const TRIES: usize = 5;
    let mut outcome = String::new();
    for _ in 0..TRIES {
        outcome = ended("DEL", node.start("DEL", namespace, config, pod).unwrap(), trace);
        if outcome == "DEL succeeded" {
            return outcome;
        }
    }
    panic!("pod {pod} cannot leave, {TRIES} times, with {config}: {outcome}");
}

/// Lets all pods leave, whether they are attached or not, as well as that can be done. DEL leaves
/// what is attached to another network than it names, so it names none.
pub(crate) fn clear(nodes: &[DirectPods; 2]) {
    let (namespace, config) =
        (names::namespace(0), json!({"cniVersion": "1.1.0", "name": "life", "type": "userspace"}));
    for pod in 0..PODS {
        let ended = nodes[node_of(pod)].start("DEL", &namespace, &config, pod).map(Child::wait_with_output);
        if !matches!(&ended, Ok(Ok(output)) if output.status.success()) {
            eprintln!("cleaning up after a run: pod {pod} cannot leave: {ended:?}");
        }
    }
}

/// A namespace and a configuration for a DEL that comes before every ADD.
fn unused() -> (String, Value) {
    (names::namespace(0), manifests::naming(&names::network(0)))
}

/// Kills the plugin some time after its start, unless it was quicker.
fn kill(mut child: Child, after: Duration) -> String {
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    "ADD killed".to_owned()
}

/// How a call ended. What fails must say why in the words of CNI.
fn ended(verb: &str, child: Child, trace: &Trace) -> String {
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        return format!("{verb} succeeded");
    }
    let observed = String::from_utf8_lossy(&output.stdout);
    let error: Value = serde_json::from_str(&observed).unwrap_or_else(|error| {
        panic!("{verb} failed without an error of CNI ({error}): {observed}{}", String::from_utf8_lossy(&output.stderr))
    });
    assert!(error["code"].is_u64() && error["msg"].as_str().is_some_and(|message| !message.is_empty()), "{observed}");
    trace.note(format!("      {verb} refused: {}", error["msg"]));
    format!("{verb} refused with code {}", error["code"])
}
