//! An agent that selects its networks itself, with the test in place of the API server.

use super::node::{network, until};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{oneshot, watch};
use usnet_agent::Agent;
use usnet_agent::cni_configurations;
use usnet_agent::model::input::{Compiled, Input};
use usnet_agent::model::report::Report;
use usnet_agent::selection::spec_builder::{self, Sources};
use usnet_crds::{NetworkName, NodeNetwork, Phase};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;

/// A running agent, on a thread of its own as in its own process. Drop it to stop it.
pub(crate) struct SelectingAgent {
    inputs: watch::Sender<Option<Input>>,
    reports: watch::Receiver<Option<Report>>,
    /// What is wrong with the configurations of the node.
    problem: watch::Receiver<Option<String>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Network `name` as the controller compiled it; it selects every node that has its engine.
pub(crate) fn compiled(name: &str, version: u64) -> Compiled {
    Compiled::without_selector(version, format!("uid-{name}"), Arc::new(network(name)))
}

impl SelectingAgent {
    pub(crate) fn start(paths: &NodePaths) -> Self {
        let (inputs, inputs_of_agent) = watch::channel(Some(Input { generation: 1, ..Input::default() }));
        let (specs, specs_in_agent) = watch::channel(None);
        let (reports_of_agent, reports) = watch::channel(None);
        let (found, file_networks) = watch::channel(None);
        let (problems, problem) = watch::channel(None);
        let report = move |problem| drop(problems.send_replace(problem));
        let (stop, stopped) = oneshot::channel::<()>();
        let (paths, sources) =
            (paths.clone(), Sources { inputs: inputs_of_agent, reports: reports.clone(), file_networks });
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let agent = Agent::new(&paths, MemifSocketIds::default(), specs_in_agent, reports_of_agent).unwrap();
                tokio::select! {
                    ended = agent.run() => drop(ended.unwrap()),
                    () = spec_builder::build(None, sources, specs) => {}
                    () = cni_configurations::follow(&paths.cni_configurations, found, report) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { inputs, reports, problem, stop: Some(stop), thread: Some(thread) }
    }

    /// Sends a network as the controller would write it.
    pub(crate) fn apply(&self, compiled: Compiled) {
        self.change(|input| {
            input.version = input.version.max(compiled.version);
            input.networks.insert(compiled.network.name.clone(), Arc::new(compiled));
        });
    }

    /// Waits until the configurations of the node have a problem with these words, or none.
    pub(crate) fn wait_for_problem(&self, words: &[&str]) {
        until(&format!("the problem {words:?}"), || match self.problem.borrow().as_ref() {
            Some(problem) => (!words.is_empty() && words.iter().all(|word| problem.contains(word))).then_some(()),
            None => words.is_empty().then_some(()),
        });
    }

    /// Marks a network as being deleted.
    pub(crate) fn drain(&self, name: &str, version: u64) {
        let compiled = compiled(name, version);
        let network = NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(&compiled.network) };
        self.apply(Compiled { network: Arc::new(network), ..compiled });
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Input)) {
        self.inputs.send_modify(|input| change(input.as_mut().unwrap()));
    }

    /// Waits until all compiled networks up to this version are considered, and gives that report.
    pub(crate) fn wait_until_through(&self, version: u64) -> Report {
        self.wait_for(&format!("through {version}"), |report| report.through() >= Some(version))
    }

    pub(crate) fn wait_for(&self, what: &str, condition: impl Fn(&Report) -> bool) -> Report {
        until(what, || self.reports.borrow().clone().filter(&condition))
    }

    /// The report of a network: state, reason and number of attachments.
    pub(crate) fn wait_for_network(&self, name: &str, expected: &str) -> Report {
        self.wait_for(&format!("{name} is {expected}"), |report| {
            let entry = report.networks.iter().find(|entry| entry.name == name);
            let text = entry.map(|entry| format!("{:?} {} {}", entry.state, entry.reason, entry.attachments));
            text.as_deref() == Some(expected)
        })
    }
}

impl Drop for SelectingAgent {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(Err(panic)) = ended
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

pub(crate) fn name(name: &str) -> NetworkName {
    name.parse().unwrap()
}
