//! A node with one engine, for the plugin.

use super::namespaces::within;
use crate::calls::pod;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use usnet_crds::{AntiSpoofing, Bridge, EngineKind, NodeNetwork, Policies, Port};
use usnet_dataplane::bridge::DesiredBridge;
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::model::policy_zone::PolicyZone;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::Op;
use usnet_dataplane::{ovs, vpp};
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{OpenVswitch as OpenVswitchRow, Transaction};
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

const TIMEOUT: Duration = Duration::from_secs(30);

/// What the packet threads of Open vSwitch do when there are no packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PmdThreads {
    /// `pmd-maxsleep=0`, the default: one thread takes a whole core.
    Poll,
    /// `pmd-maxsleep=500`, as the tests have it.
    Sleep,
}

impl PmdThreads {
    pub(crate) const BOTH: [Self; 2] = [Self::Poll, Self::Sleep];

    fn settings(self) -> (&'static str, &'static str) {
        match self {
            Self::Poll => ("Open vSwitch, PMD thread polls", "other_config:pmd-maxsleep=0"),
            Self::Sleep => ("Open vSwitch, PMD thread sleeps up to 500 µs", "other_config:pmd-maxsleep=500"),
        }
    }
}

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
    /// Of the engine, for sockets: its path is short.
    pub(crate) folder: PathBuf,
    _run_folder: RunFolder,
    _files: TempDir,
}

/// The folder of what does not outlive a boot, in memory as `/run` of a node. Mounted as long as
/// this lives.
struct RunFolder(PathBuf);

impl RunFolder {
    fn mount(path: PathBuf) -> Self {
        fs::create_dir_all(&path).expect("a folder");
        mount(Some("tmpfs"), &path, Some("tmpfs"), MsFlags::empty(), Some("mode=755"))
            .expect("a file system in memory");
        Self(path)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Err(error) = umount2(&self.0, MntFlags::MNT_DETACH) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

/// Measures on Open vSwitch with DPDK, in its network namespace.
pub(crate) fn on_open_vswitch(threads: PmdThreads, measure: impl FnOnce(&Node) + Send) {
    let switch = OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch starts");
    let (name, setting) = threads.settings();
    switch.vsctl(&["set", "Open_vSwitch", ".", setting]).expect("the setting of the packet threads");
    let node = Node::new(EngineKind::OpenVswitch, name.to_owned(), switch.folder(), switch.socket());
    let mut driver = ovs::OpenVswitch::new(Client::connect(&node.socket, TIMEOUT).expect("the database answers"));
    node.add_bridge(&mut driver);
    within(&switch.network_namespace(), || measure(&node));
}

/// Measures on VPP, a real one where there is one, which polls as it does by default.
pub(crate) fn on_vpp(measure: impl FnOnce(&Node)) {
    let kind = Kind::best();
    let vpp = Vpp::builder(kind).polling().start().expect("VPP starts");
    let node = Node::new(EngineKind::Vpp, format!("VPP ({kind})"), vpp.folder(), vpp.socket());
    let mut driver = vpp::Vpp::new(vpp.client().expect("VPP answers"), MemifSocketIds::default());
    node.add_bridge(&mut driver);
    measure(&node);
}

impl Node {
    fn new(engine: EngineKind, name: String, folder: &Path, socket: &Path) -> Self {
        Self::with_run_folder(engine, name, folder, (socket, "run"))
    }

    fn with_run_folder(engine: EngineKind, name: String, folder: &Path, (socket, run): (&Path, &str)) -> Self {
        let files = tempfile::tempdir().expect("a folder");
        let run_folder = RunFolder::mount(folder.join(run));
        let roots = NodePaths { run: run_folder.0.clone(), ..NodePaths::below(files.path()) };
        let roots = roots.with_socket(engine, socket);
        let (socket, folder) = (socket.to_owned(), folder.to_owned());
        Self { engine, name, roots, socket, folder, _run_folder: run_folder, _files: files }
    }

    /// The same engine with other records.
    pub(crate) fn with_other_records(&self) -> Self {
        Self::with_run_folder(self.engine, self.name.clone(), &self.folder, (&self.socket, "run2"))
    }

    /// The network, with ports of this kind, as the agent would say it.
    pub(crate) fn program(&self, port: &Port) {
        self.program_with(port, None);
    }

    /// The same with the configuration of an IPAM plugin.
    pub(crate) fn program_with(&self, port: &Port, ipam: Option<Value>) {
        let network = NodeNetwork { port: port.clone(), ipam, ..self.network() };
        pod::program(&self.roots, network, &self.socket);
    }

    /// The same, with or without policies.
    pub(crate) fn program_checked(&self, port: &Port, policies: Policies) {
        let mut network = NodeNetwork { port: port.clone(), policies, ..self.network() };
        network.bridge.is_guarded = port.anti_spoofing != AntiSpoofing::Off;
        pod::program(&self.roots, network, &self.socket);
    }

    /// The network that all pods attach to.
    pub(crate) fn network(&self) -> NodeNetwork {
        pod::network(self.engine, "bench")
    }

    /// Returns when the engine has done what it was requested: what follows a DEL, which does not
    /// wait, is not to pay for it.
    pub(crate) fn settle(&self) {
        if self.engine != EngineKind::OpenVswitch {
            return;
        }
        let mut client = Client::connect(&self.socket, TIMEOUT).expect("the database answers");
        let mut transaction = Transaction::new();
        let rows = transaction.select_columns::<OpenVswitchRow>(Vec::new(), ["next_cfg"]);
        let reply = client.transact(&transaction).expect("the database answers");
        let next = reply.rows(rows).expect("its row")[0].next_cfg;
        let mut transaction = Transaction::new();
        transaction.wait_for_cur_cfg(next, TIMEOUT);
        client.transact(&transaction).expect("the switch acts");
    }

    /// Has the bridge of the network forward nothing without flows, or everything; and have
    /// policies, with connections in this zone. A bridge domain of VPP says neither.
    pub(crate) fn check_bridge(&self, is_guarded: bool, policy_zone: Option<PolicyZone>) {
        if self.engine == EngineKind::Vpp {
            return;
        }
        let database = Client::connect(&self.socket, TIMEOUT).expect("the database answers");
        let mut driver = ovs::OpenVswitch::new(database);
        let NodeNetwork { name: network, bridge, .. } = self.network();
        let bridge = Bridge { is_guarded, ..Bridge::named(bridge.name) };
        let update = Op::UpdateBridge { bridge: DesiredBridge::Network { network, bridge, policy_zone } };
        for answer in BlockingDriver::apply(&mut driver, &[update]).expect("the switch answers") {
            answer.expect("the bridge is changed");
        }
    }

    fn add_bridge(&self, driver: &mut impl BlockingDriver) {
        let NodeNetwork { name: network, bridge, .. } = self.network();
        let bridge = Bridge::named(bridge.name);
        let answers =
            driver.apply(&[Op::CreateBridge { bridge: DesiredBridge::Network { network, bridge, policy_zone: None } }]);
        for answer in answers.expect("the engine answers") {
            answer.expect("the bridge is made");
        }
    }
}
