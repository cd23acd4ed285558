//! A node with an Open vSwitch, a running agent, and one attached pod.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_dataplane::testing::{network, record_with};
use usnet_test_openvswitch::OpenVswitch;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MANIFEST: &str = "apiVersion: usnet.dev/v1alpha1
kind: UserspaceNetwork
metadata: {name: blue}
spec: {engine: OVS, namespaceSelector: {}}
";

/// Waits until `condition` holds.
pub(super) fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A node with a running agent; both end when it is dropped.
pub(super) struct Testbed {
    pub(super) ovs: OpenVswitch,
    pub(super) paths: NodePaths,
    pub(super) pod: Record,
    agent: Child,
    _folder: TempDir,
}

impl Testbed {
    /// With network blue, whose pod default/c1 has interface net1.
    pub(super) fn start() -> Self {
        // Ports of type vhost-user need DPDK.
        let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path()).with_socket(EngineKind::OpenVswitch, ovs.socket());
        let manifests = folder.path().join("manifests");
        fs::create_dir(&manifests).unwrap();
        fs::write(manifests.join("blue.yaml"), MANIFEST).unwrap();
        let mut agent = usnet(&paths);
        agent.args(["agent", "--node-name", "node-a", "--manifests"]).arg(manifests).stderr(Stdio::null());
        let agent = agent.spawn().unwrap();
        let socket = SocketPath::try_from(ovs.folder().join("c1.sock")).unwrap();
        let backend = PortBackend::VhostUser { socket, engine_role: SocketRole::Client };
        let pod = record_with("c1", &network("blue"), backend);
        let pod = Record { engine_socket: ovs.socket().into(), pod_directory: folder.path().into(), ..pod };
        let testbed = Self { ovs, paths, pod, agent, _folder: folder };
        testbed.write(&testbed.pod);
        until("the pod has a port", || {
            testbed.vsctl("list-br") == "br-blue"
                && testbed.vsctl("list-ports br-blue") == testbed.pod.port.name.as_str()
        });
        testbed
    }

    pub(super) fn vsctl(&self, line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().collect();
        self.ovs.vsctl(&arguments).unwrap_or_else(|error| panic!("ovs-vsctl {line}: {error}")).trim().to_owned()
    }

    /// Writes a record as the plugin does.
    pub(super) fn write(&self, record: &Record) {
        Journal::open(&self.paths).unwrap().lock(&record.id).unwrap().write(record).unwrap();
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// A program of this node.
pub(super) fn usnet(paths: &NodePaths) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_usnet"));
    command.env("USNET_RUN_DIR", &paths.run).env("USNET_STATE_DIR", &paths.state);
    command.env("USNET_KUBELET_DIR", &paths.kubelet).env_remove("RUST_LOG");
    for engine in EngineKind::ALL {
        command.env(engine.traits().socket_variable, paths.engine_socket(engine));
    }
    command
}
