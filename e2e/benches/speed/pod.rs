//! The plugin as a runtime calls it, for a pod that there is only a volume of.

use crate::programs::{Programs, network_namespace, timed};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};
use tempfile::NamedTempFile;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::paths::NodePaths;
pub(crate) use usnet_dataplane::testing::network_with as network;

const POD: &str = "0b3c1f6e-0000-4000-8000-000000000001";

/// What the agent would have said of a network, and the pod's volume.
pub(crate) fn prepare(roots: &NodePaths, network: NodeNetwork, engine_socket: &Path) {
    let programmed = ProgrammedNetwork {
        version: ProgrammedNetwork::VERSION,
        network,
        engine_socket: engine_socket.to_owned(),
        epoch: 1,
        memif_socket_ids: MemifSocketIds::default(),
    };
    NetworkFiles::new(roots).write(&NetworkFile::Programmed(programmed)).expect("the network file");
    let volume = roots.kubelet.join(format!("pods/{POD}/volumes/kubernetes.io~empty-dir/usnet"));
    fs::create_dir_all(volume).expect("the pod's volume");
}

/// How long one call of the plugin takes, from exec to exit.
pub(crate) fn timed_plugin(programs: &Programs, roots: &NodePaths, verb: &str, run: usize) -> Duration {
    let config = json!({"cniVersion": "1.1.0", "name": "bench", "type": "userspace", "network": "bench"});
    let pod = Pod { uid: POD.to_owned(), container: format!("bench{run}") };
    let file = configuration(&config);
    timed(&mut command(programs, roots, verb, &pod, &file)).0
}

/// A pod, as far as a call names it.
pub(crate) struct Pod {
    /// Its uid.
    pub(crate) uid: String,
    /// The id of its sandbox.
    pub(crate) container: String,
}

impl Pod {
    /// One of many, with a volume.
    pub(crate) fn numbered(roots: &NodePaths, number: usize) -> Self {
        let pod =
            Self { uid: format!("{number:08x}-0000-4000-8000-000000000002"), container: format!("{number:064x}") };
        fs::create_dir_all(pod.volume(roots)).expect("the pod's volume");
        pod
    }

    fn volume(&self, roots: &NodePaths) -> PathBuf {
        roots.kubelet.join(format!("pods/{}/volumes/kubernetes.io~empty-dir/usnet", self.uid))
    }
}

/// A configuration, as standard input of a call.
pub(crate) fn configuration(configuration: &Value) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    fs::write(file.path(), configuration.to_string()).expect("the configuration");
    file
}

/// One call of the plugin.
pub(crate) fn command(
    programs: &Programs,
    roots: &NodePaths,
    verb: &str,
    pod: &Pod,
    configuration: &NamedTempFile,
) -> Command {
    let mut command = Command::new(&programs.userspace);
    command
        .env("CNI_COMMAND", verb)
        .env("CNI_CONTAINERID", &pod.container)
        .env("CNI_NETNS", network_namespace())
        .env("CNI_IFNAME", "net1")
        .env(
            "CNI_ARGS",
            format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=bench;K8S_POD_UID={}", pod.uid),
        )
        .env("CNI_PATH", env::var_os("USNET_TOOLS").unwrap_or_else(|| "/nonexistent".into()))
        .env("USNET_RUN_DIR", &roots.run)
        .env("USNET_STATE_DIR", &roots.state)
        .env("USNET_KUBELET_DIR", &roots.kubelet)
        .env("USNET_OVS_SOCKET", roots.engine_socket(EngineKind::OpenVswitch))
        .env("USNET_VPP_SOCKET", roots.engine_socket(EngineKind::Vpp))
        .stdin(configuration.reopen().expect("the configuration"));
    command
}
