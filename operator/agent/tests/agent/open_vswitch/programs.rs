//! The programs of pods with vhost-user ports: DPDK's testpmd.

use super::testbed::OvsTestbed;
use crate::support::node::network;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use usnet_crds::{NodeNetwork, SocketRole};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::ovs::ServerSocket;
use usnet_dataplane::port::{PortBackend, SocketPath};

/// The programs of pods in one process.
pub(super) struct Programs {
    process: Child,
    log: PathBuf,
    /// What DPDK leaves of it.
    runtime_folder: PathBuf,
}

impl Programs {
    /// Programs that send to each other, which keeps a CPU busy until they end.
    pub(super) fn with_traffic(testbed: &OvsTestbed, pods: &[Record]) -> Self {
        Self::start(testbed, pods, &["--forward-mode=flowgen", "--stats-period=1", "--auto-start"])
    }

    /// Programs that are connected and wait for commands.
    pub(super) fn idle(testbed: &OvsTestbed, pods: &[Record]) -> Self {
        Self::start(testbed, pods, &["--interactive"])
    }

    fn start(testbed: &OvsTestbed, pods: &[Record], arguments: &[&str]) -> Self {
        let folder = testbed.ovs.folder();
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "64"]);
        // Of programs with the same prefix DPDK starts one at a time; tests run beside each other.
        let prefix = folder.file_name().unwrap().to_str().unwrap();
        command.arg(format!("--file-prefix={prefix}"));
        for (number, pod) in pods.iter().enumerate() {
            let PortBackend::VhostUser { socket, engine_role } = &pod.port.backend else { panic!("no socket") };
            let (place, server) = match engine_role {
                SocketRole::Client => (socket.as_path().to_owned(), 1),
                SocketRole::Server => (server_socket(testbed, pod).folder().join(SOCKET), 0),
            };
            command.arg(format!("--vdev=net_virtio_user{number},path={},server={server}", place.display()));
        }
        command.args(["--", "--total-num-mbufs=2048", "--no-mlockall"]).args(arguments);
        let log = folder.join("testpmd.log");
        let output = File::create(&log).unwrap();
        // The program ends when its input does.
        let process = command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::null()).spawn().unwrap();
        Self { process, log, runtime_folder: Path::new("/var/run/dpdk").join(prefix) }
    }

    /// The packets that each pod has received, in the order of the pods, as last printed.
    pub(super) fn received(&self) -> Vec<u64> {
        let printed = fs::read_to_string(&self.log).unwrap();
        let mut counts = BTreeMap::new();
        let mut port = "";
        for line in printed.lines() {
            if let Some((_, of_port)) = line.split_once("NIC statistics for port ") {
                port = of_port.split(' ').next().unwrap_or_default();
            } else if let Some(count) = line.trim().strip_prefix("RX-packets: ") {
                counts.insert(port, count.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or(0));
            }
        }
        counts.into_values().collect()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
        let _removed = fs::remove_dir_all(&self.runtime_folder);
    }
}

/// The name of the socket on which the switch listens.
pub(super) const SOCKET: &str = "net1.sock";

/// The socket of a pod's port on which the switch listens.
pub(super) fn server_socket(testbed: &OvsTestbed, pod: &Record) -> ServerSocket {
    ServerSocket::new(testbed.ovs.socket(), &pod.port.name)
}

/// A pod on the network `blue`.
pub(super) fn pod(testbed: &OvsTestbed, container: &str) -> Record {
    pod_of(testbed, container, &network("blue"))
}

pub(super) fn pod_of(testbed: &OvsTestbed, container: &str, network: &NodeNetwork) -> Record {
    testbed.record(container, network, vhost_user(testbed, container, SocketRole::Client))
}

pub(super) fn vhost_user(testbed: &OvsTestbed, container: &str, engine_role: SocketRole) -> PortBackend {
    let socket = SocketPath::try_from(testbed.ovs.folder().join(format!("{container}.sock"))).unwrap();
    PortBackend::VhostUser { socket, engine_role }
}
