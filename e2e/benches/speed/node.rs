//! A node with one engine, for the plugin.

use crate::pod;
use crate::programs::in_namespace;
use std::path::PathBuf;
use tempfile::TempDir;
use usnet_crds::{Bridge, EngineKind, NodeNetwork, Port};
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::Op;
use usnet_dataplane::{ovs, vpp};
use usnet_ovsdb::blocking::Client;
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The engine's files and the node's.
pub(crate) struct Node {
    /// Which engine.
    pub(crate) engine: EngineKind,
    /// What it is called in the report.
    pub(crate) name: String,
    /// Where everything is.
    pub(crate) roots: NodePaths,
    /// The engine's control socket.
    pub(crate) socket: PathBuf,
    _folder: TempDir,
}

/// Measures on Open vSwitch with DPDK, in its network namespace.
pub(crate) fn on_open_vswitch(measure: impl FnOnce(&Node) + Send) {
    let switch = OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch starts");
    let folder = tempfile::tempdir().expect("a folder");
    let (run, socket) = (switch.folder().join("run"), switch.socket().to_owned());
    let roots = NodePaths { run, ..NodePaths::below(folder.path()) }.with_socket(EngineKind::OpenVswitch, &socket);
    let (engine, name) = (EngineKind::OpenVswitch, "Open vSwitch".to_owned());
    let node = Node { engine, name, roots, socket, _folder: folder };
    let mut driver = ovs::OpenVswitch::new(Client::connect(&node.socket, TIMEOUT).expect("the database answers"));
    node.add_bridge(&mut driver);
    in_namespace(&switch.network_namespace(), || measure(&node));
}

/// Measures on VPP, a real one where there is one.
pub(crate) fn on_vpp(measure: impl FnOnce(&Node)) {
    let kind = Kind::best();
    let vpp = Vpp::start(kind).expect("VPP starts");
    let folder = tempfile::tempdir().expect("a folder");
    let (run, socket) = (vpp.folder().join("run"), vpp.socket().to_owned());
    let roots = NodePaths { run, ..NodePaths::below(folder.path()) }.with_socket(EngineKind::Vpp, &socket);
    let (engine, name) = (EngineKind::Vpp, format!("VPP ({kind})"));
    let node = Node { engine, name, roots, socket, _folder: folder };
    let mut driver = vpp::Vpp::new(vpp.client().expect("VPP answers"), MemifSocketIds::default());
    node.add_bridge(&mut driver);
    measure(&node);
}

impl Node {
    /// The network, with ports of this kind, as the agent would say it.
    pub(crate) fn program(&self, port: &Port) {
        pod::prepare(&self.roots, NodeNetwork { port: port.clone(), ..self.network() }, &self.socket);
    }

    fn network(&self) -> NodeNetwork {
        pod::network(self.engine, "bench")
    }

    fn add_bridge(&self, driver: &mut impl BlockingDriver) {
        let NodeNetwork { name: network, bridge, .. } = self.network();
        let bridge = Bridge::named(bridge.name);
        let answers = driver.apply(&[Op::CreateBridge { network, bridge }]);
        for answer in answers.expect("the engine answers") {
            answer.expect("the bridge is made");
        }
    }
}
