//! The agent of a simulated node behind a [`Proxy`], with an Open vSwitch of its own.

use crate::support::control_plane::simulated_nodes::SimulatedNodes;
use crate::support::proxy::program::Proxied;
use crate::support::proxy::server::Proxy;
use tempfile::TempDir;
use usnet_crds::EngineKind;
use usnet_dataplane::paths::NodePaths;
use usnet_test_openvswitch::OpenVswitch;

/// Ends when it is dropped, with its node.
pub(crate) struct ProxiedAgent {
    program: Proxied,
    pub(crate) switch: OpenVswitch,
    /// What the agent keeps on its node.
    _folder: TempDir,
    _node: SimulatedNodes,
}

impl ProxiedAgent {
    /// The agent of a node labelled `scene=<scene>`.
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
        let program = Proxied::start(Proxy::start("usnet-agent", Some(&name)), "agent", &variables);
        Self { program, switch, _folder: folder, _node: node }
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        &self.program.proxy
    }
}
