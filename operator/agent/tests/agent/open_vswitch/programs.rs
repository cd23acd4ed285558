//! The programs of pods with vhost-user ports: DPDK's testpmd.

use super::testbed::OvsTestbed;
use crate::support::node::network;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use usnet_crds::{NodeNetwork, SocketRole};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::port::{PortBackend, SocketPath};

/// The programs of pods in one process.
pub(super) struct Programs {
    process: Child,
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
            let socket = pod.port.backend.socket_file().unwrap().display();
            command.arg(format!("--vdev=net_virtio_user{number},path={socket},server=1"));
        }
        command.args(["--", "--total-num-mbufs=2048", "--no-mlockall"]).args(arguments);
        let log = File::create(folder.join("testpmd.log")).unwrap();
        // The program ends when its input does.
        let process = command.stdin(Stdio::piped()).stdout(log).stderr(Stdio::null()).spawn().unwrap();
        Self { process, runtime_folder: Path::new("/var/run/dpdk").join(prefix) }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
        let _removed = fs::remove_dir_all(&self.runtime_folder);
    }
}

/// A pod on the network `blue`.
pub(super) fn pod(testbed: &OvsTestbed, container: &str) -> Record {
    pod_of(testbed, container, &network("blue"))
}

pub(super) fn pod_of(testbed: &OvsTestbed, container: &str, network: &NodeNetwork) -> Record {
    let socket = SocketPath::try_from(testbed.ovs.folder().join(format!("{container}.sock"))).unwrap();
    testbed.record(container, network, PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
}
