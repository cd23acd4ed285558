//! The agent of a simulated node behind a [`Proxy`], with an Open vSwitch of its own.

use crate::support::control_plane::simulated_nodes::SimulatedNodes;
use crate::support::proxy::program::ProxiedProgram;
use crate::support::proxy::server::Proxy;
use tempfile::TempDir;
use usnet_crds::EngineKind;
use usnet_dataplane::paths::NodePaths;
use usnet_test_openvswitch::OpenVswitch;

/// The agent, which is stopped with its node when this is dropped.
pub(crate) struct ProxiedAgent {
    program: ProxiedProgram,
    pub(crate) switch: OpenVswitch,
    /// The files of the agent.
    _folder: TempDir,
    _node: SimulatedNodes,
}

impl ProxiedAgent {
    /// Starts the agent of a node with the label `scene=<scene>`.
    pub(crate) fn start(scene: &'static str) -> Self {
        let node = SimulatedNodes::create(scene, 1);
        let (switch, folder) = (OpenVswitch::builder().dpdk(true).start().unwrap(), tempfile::tempdir().unwrap());
        let roots = NodePaths::below(folder.path());
        let name = node.name(0);
        let paths = [
            ("USNET_RUN_DIR", &roots.run),
            ("USNET_STATE_DIR", &roots.state),
            ("USNET_KUBELET_DIR", &roots.kubelet),
            ("USNET_DEVICE_INFO_DIR", &roots.device_info),
            ("USNET_VPP_SOCKET", &roots.engine_socket(EngineKind::Vpp)),
            ("USNET_OVS_SOCKET", &switch.socket().to_owned()),
        ];
        let mut variables: Vec<_> = paths.map(|(variable, path)| (variable, path.display().to_string())).into();
        variables.push(("NODE_NAME", name.clone()));
        let program = ProxiedProgram::start(Proxy::start("usnet-agent", Some(&name)), "agent", &variables);
        Self { program, switch, _folder: folder, _node: node }
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        &self.program.proxy
    }
}
