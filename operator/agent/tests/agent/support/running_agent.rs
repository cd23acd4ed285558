//! An agent that can be stopped and started, with the test in place of the API server.

use super::node::{PATIENCE, until};
use prometheus::Registry;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use usnet_agent::Agent;
use usnet_agent::model::policies::{CompiledPolicies, PodSlices, SlicesOfNetworks};
use usnet_agent::model::report::Report;
use usnet_agent::model::spec::NodeSpec;
use usnet_crds::conditions::{ConditionUpdate, OVS_CONNECTED};
use usnet_crds::node_state::NetworkReport;
use usnet_crds::{CompiledPolicySpec, EngineKind, NodeNetwork, NodeUplink, UserspacePodSliceSpec};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;

/// A running agent, on a thread of its own as in its own process. Drop it to stop it.
pub(crate) struct RunningAgent {
    specs: watch::Sender<Option<Arc<NodeSpec>>>,
    policies: watch::Sender<CompiledPolicies>,
    pod_slices: watch::Sender<PodSlices>,
    reports: watch::Receiver<Option<Report>>,
    metrics: Registry,
    stop: Option<oneshot::Sender<()>>,
    /// Gives the error that ended the agent, if one did.
    thread: Option<JoinHandle<Option<String>>>,
}

impl RunningAgent {
    pub(crate) fn start(paths: &NodePaths) -> Self {
        let (specs, specs_in_agent) = watch::channel(None);
        let (reports_of_agent, reports) = watch::channel(None);
        let (stop, stopped) = oneshot::channel::<()>();
        let paths = paths.clone();
        let metrics = Registry::new();
        let metrics_of_agent = metrics.clone();
        let (policies_of_agent, policies) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let agent = Agent::new(&paths, MemifSocketIds::default(), specs_in_agent, reports_of_agent).unwrap();
                agent.metrics().register(&metrics_of_agent).unwrap();
                policies_of_agent.send((agent.policies(), agent.pod_slices())).unwrap();
                tokio::select! {
                    ended = agent.run() => ended.err().map(|error| error.to_string()),
                    _ = stopped => None,
                }
            })
        });
        let (policies, pod_slices) = policies.recv().expect("an agent");
        Self { specs, policies, pod_slices, reports, metrics, stop: Some(stop), thread: Some(thread) }
    }

    /// Gives the agent a spec with this revision, by which its report is recognised.
    pub(crate) fn set_spec(&self, number: u32, networks: &[NodeNetwork]) {
        self.set_spec_with_uplinks(number, networks, &[]);
    }

    /// Gives the agent all policies.
    pub(crate) fn set_policies(&self, policies: Vec<CompiledPolicySpec>) {
        self.policies.send_replace(Some(Arc::new(policies)));
    }

    /// Gives the agent the pods of the network blue.
    pub(crate) fn set_pods(&self, slice: UserspacePodSliceSpec) {
        let networks = [slice.network.clone()].into();
        self.pod_slices.send_replace(Some(Arc::new(SlicesOfNetworks { networks, slices: vec![slice] })));
    }

    /// Gives the agent a spec with uplinks.
    pub(crate) fn set_spec_with_uplinks(&self, number: u32, networks: &[NodeNetwork], uplinks: &[NodeUplink]) {
        let networks = networks.iter().cloned().map(Arc::new).collect();
        let uplinks = uplinks.iter().map(|uplink| (uplink.name.clone(), Arc::new(uplink.clone()))).collect();
        let (revision, generation) = (number.into(), number.into());
        let spec = NodeSpec { revision, generation, through: revision, networks, uplinks, ..NodeSpec::default() };
        self.specs.send_replace(Some(Arc::new(spec)));
    }

    /// Waits for a report for which `condition` returns a value.
    pub(crate) fn wait_for_report<T>(&self, what: &str, condition: impl Fn(&Report) -> Option<T>) -> T {
        let mut last = None;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            last.clone_from(&self.reports.borrow());
            if let Some(found) = last.as_ref().and_then(&condition) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no report says: {what}; the last one is {last:#?}");
    }

    pub(crate) fn wait_for_network(
        &self,
        name: &str,
        what: &str,
        condition: impl Fn(&NetworkReport) -> bool,
    ) -> NetworkReport {
        self.wait_for_report(&format!("{name} {what}"), |report| {
            report.networks.iter().find(|entry| entry.name == name && condition(entry)).map(|entry| (**entry).clone())
        })
    }

    /// Waits for a connection to Open vSwitch, or for the reason why there is none.
    pub(crate) fn wait_for_connection(&self, reason: &str) -> ConditionUpdate {
        self.wait_for_condition(OVS_CONNECTED, reason)
    }

    pub(crate) fn wait_for_condition(&self, kind: &str, reason: &str) -> ConditionUpdate {
        self.wait_for_report(&format!("{kind} {reason}"), |report| {
            report.findings.iter().find(|finding| finding.kind == kind && finding.reason == reason).cloned()
        })
    }

    /// The reported end of an engine with this number.
    pub(crate) fn wait_for_end_of(&self, engine: EngineKind, number: i64) -> String {
        self.wait_for_report(&format!("end {number} of {engine}"), |report| {
            let end = report.engine_ends.iter().find(|end| (end.engine, end.number) == (engine, number));
            end.map(|end| end.message.clone())
        })
    }

    pub(crate) fn epoch(&self, engine: EngineKind) -> i64 {
        self.wait_for_report(&format!("{engine} is up"), |report| {
            report.engines.iter().find(|up| up.engine == engine).map(|up| up.epoch)
        })
    }

    /// A counter or gauge of an engine; 0 before it is set for the first time.
    pub(crate) fn metric(&self, name: &str, engine: EngineKind) -> f64 {
        self.sum_of(name, |sample| sample.get_label().iter().any(|label| label.value() == engine.traits().api_name))
    }

    /// A counter or gauge with all of these values of labels.
    pub(crate) fn metric_of(&self, name: &str, labels: &[&str]) -> f64 {
        self.sum_of(name, |sample| labels.iter().all(|it| sample.get_label().iter().any(|label| label.value() == *it)))
    }

    /// A counter or gauge without labels.
    pub(crate) fn node_metric(&self, name: &str) -> f64 {
        self.sum_of(name, |sample| sample.get_label().is_empty())
    }

    /// Whether a counter or gauge has any series.
    pub(crate) fn has_metric(&self, name: &str) -> bool {
        self.metrics.gather().iter().any(|family| family.name() == name)
    }

    fn sum_of(&self, name: &str, is_wanted: impl Fn(&prometheus::proto::Metric) -> bool) -> f64 {
        let families = self.metrics.gather();
        let samples = families.iter().filter(|family| family.name() == name).flat_map(|family| family.get_metric());
        samples
            .filter(|sample| is_wanted(sample))
            .map(|sample| sample.get_gauge().get_value() + sample.get_counter().get_value())
            .sum()
    }

    /// Waits for the error that ends the agent.
    pub(crate) fn wait_for_end(mut self) -> String {
        let thread = self.thread.take().unwrap();
        until("the agent ends", || thread.is_finished().then_some(()));
        thread.join().unwrap().expect("it ended by an error")
    }
}

impl Drop for RunningAgent {
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
