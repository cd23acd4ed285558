//! The plugin as a runtime calls it, for a pod that there is only a volume of.

use crate::programs::{Programs, timed};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use usnet_crds::{Bridge, Engine, NetworkName, NodeNetwork, Phase, Port};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::roots::Roots;

const POD: &str = "0b3c1f6e-0000-4000-8000-000000000001";

/// A network with all that is usual for its engine.
pub(crate) fn network(engine: Engine, name: &str) -> NodeNetwork {
    let name: NetworkName = name.parse().expect("a valid name");
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine,
        bridge: Bridge::named(engine.default_bridge(&name)),
        port: Port { port_type: engine.default_port_type(), ..Port::default() },
        allowed_namespaces: ["default".to_owned()].into(),
        ipam: None,
        attachments: Vec::new(),
        name,
    }
}

/// What the agent would have said of a network, and the pod's volume.
pub(crate) fn prepare(roots: &Roots, network: NodeNetwork, engine_socket: &Path) {
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
pub(crate) fn timed_plugin(programs: &Programs, roots: &Roots, verb: &str, run: usize) -> Duration {
    let config = json!({"cniVersion": "1.1.0", "name": "bench", "type": "userspace", "network": "bench"});
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), config.to_string()).expect("the configuration");
    let mut command = Command::new(&programs.userspace);
    command
        .env("CNI_COMMAND", verb)
        .env("CNI_CONTAINERID", format!("bench{run}"))
        .env("CNI_NETNS", "/proc/self/ns/net")
        .env("CNI_IFNAME", "net1")
        .env("CNI_ARGS", format!("K8S_POD_NAMESPACE=default;K8S_POD_NAME=bench;K8S_POD_UID={POD}"))
        .env("CNI_PATH", "/nonexistent")
        .env("USNET_RUN_DIR", &roots.run)
        .env("USNET_STATE_DIR", &roots.state)
        .env("USNET_KUBELET_DIR", &roots.kubelet)
        .env("USNET_OVS_SOCKET", &roots.open_vswitch_socket)
        .env("USNET_VPP_SOCKET", &roots.vpp_socket)
        .stdin(file.reopen().expect("the configuration"));
    timed(&mut command).0
}
