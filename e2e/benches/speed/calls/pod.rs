//! The plugin as a runtime calls it, for a pod that there is only a volume of.

use crate::host::namespaces;
use crate::host::programs::Programs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use tempfile::NamedTempFile;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::paths::NodePaths;
pub(crate) use usnet_dataplane::testing::network_with as network;

/// What the agent would have said of a network.
pub(crate) fn program(roots: &NodePaths, network: NodeNetwork, engine_socket: &Path) {
    let programmed = ProgrammedNetwork {
        version: ProgrammedNetwork::VERSION,
        network: network.into(),
        engine_socket: engine_socket.to_owned(),
        epoch: 1,
        memif_socket_ids: MemifSocketIds::default(),
        checksum_offload: false,
        numa_node: None,
    };
    NetworkFiles::new(roots).write(&NetworkFile::Programmed(programmed)).expect("the network file");
}

/// A pod, as far as a call names it.
pub(crate) struct Pod {
    uid: String,
    pub(crate) container: String,
    network_namespace: PathBuf,
}

impl Pod {
    /// One of many, with a volume.
    pub(crate) fn numbered(roots: &NodePaths, number: usize) -> Self {
        let pod = Self {
            uid: format!("{number:08x}-0000-4000-8000-000000000002"),
            container: format!("{number:064x}"),
            network_namespace: namespaces::of_pod(number),
        };
        fs::create_dir_all(pod.volume(roots)).expect("the pod's volume");
        pod
    }

    /// Its volume for sockets.
    pub(crate) fn volume(&self, roots: &NodePaths) -> PathBuf {
        roots.kubelet.join(format!("pods/{}/volumes/kubernetes.io~empty-dir/usnet", self.uid))
    }

    /// One call of the plugin for it.
    pub(crate) fn command(
        &self,
        programs: &Programs,
        roots: &NodePaths,
        verb: &str,
        configuration: &NamedTempFile,
    ) -> Command {
        let mut command = Command::new(&programs.userspace);
        command
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", &self.container)
            .env("CNI_NETNS", &self.network_namespace)
            .env("CNI_IFNAME", "net1")
            .env(
                "CNI_ARGS",
                format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=bench;K8S_POD_UID={}", self.uid),
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
}
