//! One node: an Open vSwitch of its own, the node's files, and an agent that can be stopped and started.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};
use usnet_crds::conditions::{Finding, OVS_CONNECTED};
use usnet_crds::node_state::NetworkReport;
use usnet_crds::{Bridge, BridgeName, Engine, Mtu, NetworkName, NodeNetwork, Phase, Port};
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::roots::Roots;
use usnet_operator::agent::Agent;
use usnet_operator::agent::spec::{NodeSpec, Report};
use usnet_test_openvswitch::OpenVswitch;

const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until `condition` gives something.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The folders of a node.
pub(crate) fn roots_in(folder: &TempDir, open_vswitch_socket: PathBuf) -> Roots {
    let path = |name: &str| folder.path().join(name);
    Roots { run: path("run"), state: path("state"), kubelet: path("kubelet"), open_vswitch_socket }
}

pub(crate) fn network(name: &str) -> NodeNetwork {
    let name: NetworkName = name.parse().unwrap();
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine: Engine::OpenVswitch,
        bridge: Bridge { name: BridgeName::default_for(&name), mtu: Mtu::default() },
        port: Port::default(),
        allowed_namespaces: BTreeSet::from(["default".to_owned()]),
        ipam: None,
        name,
    }
}

/// A node whose Open vSwitch runs.
pub(crate) struct World {
    pub(crate) ovs: OpenVswitch,
    pub(crate) roots: Roots,
    _folder: TempDir,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with(OpenVswitch::start().expect("Open vSwitch"))
    }

    pub(crate) fn with(ovs: OpenVswitch) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots_in(&folder, ovs.socket().to_owned());
        Self { ovs, roots, _folder: folder }
    }

    pub(crate) fn vsctl(&self, line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().collect();
        self.ovs.vsctl(&arguments).unwrap_or_else(|error| panic!("ovs-vsctl {line}: {error}")).trim().to_owned()
    }

    /// All rows of a table with their versions, which change whenever any column does. Columns that the switch changes by itself are left out.
    pub(crate) fn rows(&self, table: &str, columns: &[&str]) -> Value {
        let select = serde_json::json!([
            "Open_vSwitch",
            {"op": "select", "table": table, "where": [], "columns": columns}
        ]);
        let server = format!("unix:{}", self.ovs.socket().display());
        let output = Command::new("ovsdb-client").args(["query", &server, &select.to_string()]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn file(&self, network: &str) -> Option<NetworkFile> {
        NetworkFiles::new(&self.roots).read(&network.parse().unwrap()).unwrap()
    }

    pub(crate) fn is_programmed(&self, network: &str) -> bool {
        matches!(self.file(network), Some(NetworkFile::Programmed(_)))
    }

    pub(crate) fn wait_until_programmed(&self, network: &str) {
        until(&format!("network {network} is programmed"), || self.is_programmed(network).then_some(()));
    }

    /// The reason of the network file, which must come to be `Unavailable`.
    pub(crate) fn wait_until_unavailable(&self, network: &str) -> String {
        until(&format!("network {network} is unavailable"), || match self.file(network) {
            Some(NetworkFile::Unavailable { reason, .. }) => Some(reason),
            _ => None,
        })
    }

    pub(crate) fn bridges(&self) -> Vec<String> {
        self.vsctl("list-br").lines().map(str::to_owned).collect()
    }
}

/// A running agent, on a thread of its own as in its own process. Drop it to stop it.
pub(crate) struct RunningAgent {
    specs: watch::Sender<Option<NodeSpec>>,
    reports: watch::Receiver<Option<Report>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningAgent {
    pub(crate) fn start(roots: &Roots) -> Self {
        let (specs, specs_in_agent) = watch::channel(None);
        let (reports_of_agent, reports) = watch::channel(None);
        let (stop, stopped) = oneshot::channel::<()>();
        let roots = roots.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let agent = Agent::new(&roots, specs_in_agent, reports_of_agent).unwrap();
                tokio::select! {
                    never = agent.run() => match never {},
                    _ = stopped => {}
                }
            });
        });
        Self { specs, reports, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn tell(&self, generation: i64, networks: &[NodeNetwork]) {
        self.specs.send_replace(Some(NodeSpec { generation, networks: networks.to_vec() }));
    }

    /// Waits for a report of which this can be said.
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
            report.networks.iter().find(|entry| entry.name == name && condition(entry)).cloned()
        })
    }

    /// Waits for a connection to Open vSwitch, or for the reason why there is none.
    pub(crate) fn wait_for_connection(&self, reason: &str) -> Finding {
        self.wait_for_report(&format!("OVSConnected {reason}"), |report| {
            report.findings.iter().find(|finding| finding.kind == OVS_CONNECTED && finding.reason == reason).cloned()
        })
    }

    pub(crate) fn epoch(&self) -> i64 {
        self.wait_for_report("an engine", |report| report.engines.first().map(|engine| engine.epoch))
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
