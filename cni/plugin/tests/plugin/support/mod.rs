//! A node for one test: an engine, kubelet's folders, and the plugin as a program.
//!
//! The test runs in a thread with a separate mount namespace and a separate network namespace,
//! which Open vSwitch shares, and with a new file system on `/run`, where all of the node's files
//! are: all mounts and files are removed with the thread, also when the test is killed.

pub(crate) mod app_netutil;
pub(crate) mod breakdown;
mod calls;
pub(crate) mod engine;
pub(crate) mod legacy;
pub(crate) mod output;
pub(crate) mod pod;
pub(crate) mod port_types;
pub(crate) mod vpp;
pub(crate) mod wait;

use engine::TestEngine;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use output::Output;
use pod::Pod;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use usnet_crds::{Bridge, EngineKind, NetworkName, NodeNetwork, Phase, Port};
use usnet_dataplane::definition_ipam::DefinitionIpam;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::Op;
use usnet_test_openvswitch::{Builder, OpenVswitch};
use usnet_test_vpp::{Kind, Vpp};

/// The network that every node has, without IPAM.
pub(crate) const NETWORK: &str = "blue";
/// The namespace whose pods may attach to it.
pub(crate) const NAMESPACE: &str = "db";

/// The network namespace of its pods, as a runtime passes it.
pub(crate) const NETWORK_NAMESPACE: &str = "/run/netns/p";

pub(crate) struct TestNode {
    pub(crate) engine: TestEngine,
    pub(crate) roots: NodePaths,
}

/// Runs a test on a node with an Open vSwitch of its own.
pub(crate) fn on_a_node(test: impl FnOnce(&mut TestNode) + Send + 'static) {
    on_a_node_with(OpenVswitch::builder().dpdk(true), test);
}

/// The same, with another build of Open vSwitch.
pub(crate) fn on_a_node_with(switch: Builder, test: impl FnOnce(&mut TestNode) + Send + 'static) {
    on_a_node_of(|| TestEngine::open_vswitch(switch), test);
}

/// Runs a test on a node with a VPP of its own, if such a VPP is available.
pub(crate) fn on_a_vpp_node(kind: Kind, test: impl FnOnce(&mut TestNode) + Send + 'static) {
    if Kind::available().contains(&kind) {
        on_a_node_of(move || TestEngine::Vpp(Vpp::start(kind).expect("VPP")), test);
    }
}

fn on_a_node_of(
    start: impl FnOnce() -> TestEngine + Send + 'static,
    test: impl FnOnce(&mut TestNode) + Send + 'static,
) {
    let thread = std::thread::spawn(|| {
        separate_node();
        test(&mut TestNode::new(start()));
    });
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// Mounts are shared inside, as on a node, so that Open vSwitch's namespace (a slave of this one,
/// like that of a container) sees them. Devices that the plugin creates are removed with the
/// thread.
fn separate_node() {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).expect("namespaces; are you root?");
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), Some("mode=755")).unwrap();
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SHARED, NONE).unwrap();
}

/// Creates a network namespace for pods, which is kept by its mount.
pub(crate) fn create_network_namespace(path: &str) {
    const OWN: &str = "/proc/thread-self/ns/net";
    const NONE: Option<&str> = None;
    let before = File::open(OWN).unwrap();
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    fs::create_dir_all("/run/netns").unwrap();
    File::create(path).unwrap();
    mount(Some(OWN), path, NONE, MsFlags::MS_BIND, NONE).unwrap();
    setns(before, CloneFlags::CLONE_NEWNET).unwrap();
}

impl TestNode {
    fn new(engine: TestEngine) -> Self {
        let roots = NodePaths {
            run: "/run/usnet".into(),
            state: "/run/state".into(),
            kubelet: "/run/kubelet".into(),
            device_info: "/run/devinfo".into(),
            cdi: "/run/cdi".into(),
            processes: "/proc".into(),
            legacy_root: "/run/older".into(),
            engine_sockets: EngineKind::ALL.map(|engine| (engine, "/run/nowhere".into())).into(),
            network_namespace: None,
        };
        let node = Self { engine, roots };
        if let TestEngine::OpenVswitch(switch) = &node.engine {
            setns(File::open(switch.network_namespace()).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
        }
        create_network_namespace(NETWORK_NAMESPACE);
        node.program_network(NETWORK, None);
        node
    }

    /// The bridge of the network that every node has.
    pub(crate) fn bridge(&self) -> String {
        self.bridge_of(NETWORK)
    }

    /// The bridge of a network.
    pub(crate) fn bridge_of(&self, network: &str) -> String {
        self.engine.kind().default_bridge(&network.parse().unwrap()).to_string()
    }

    /// Programs a network like the agent.
    pub(crate) fn program_network(&self, name: &str, ipam: Option<Value>) -> NodeNetwork {
        self.program_network_with(name, &Port::default(), ipam)
    }

    /// The same, for a network with other ports.
    pub(crate) fn program_network_with(&self, name: &str, port: &Port, ipam: Option<Value>) -> NodeNetwork {
        let name: NetworkName = name.parse().unwrap();
        let engine = self.engine.kind();
        let bridge = Bridge::named(engine.default_bridge(&name));
        self.engine.apply(Op::CreateBridge { network: name.clone(), bridge: bridge.clone() });
        let network = NodeNetwork {
            name,
            generation: 1,
            phase: Phase::Active,
            engine,
            bridge,
            port: port.clone(),
            namespaces: [NAMESPACE].into_iter().collect(),
            ipam,
            gateway: None,
            attachments: Vec::new(),
            device_plugin: None,
            resource_claims: None,
            overlay: None,
            uplink: None,
        };
        self.publish(network.clone());
        network
    }

    /// Writes the network's file.
    pub(crate) fn publish(&self, network: NodeNetwork) {
        self.publish_with(network, MemifSocketIds::default());
    }

    /// The same, with other ids of memif sockets.
    pub(crate) fn publish_with(&self, network: NodeNetwork, memif_socket_ids: MemifSocketIds) {
        self.publish_file(&NetworkFile::Programmed(ProgrammedNetwork {
            version: ProgrammedNetwork::VERSION,
            network: network.into(),
            engine_socket: self.engine.socket(),
            epoch: 1,
            memif_socket_ids,
        }));
    }

    /// Publishes a network's file like the agent.
    pub(crate) fn publish_file(&self, file: &NetworkFile) {
        NetworkFiles::new(&self.roots).write(file).unwrap();
    }

    /// Allows network configurations these IPAM plugins and keys, like the agent.
    pub(crate) fn allow_ipam(&self, plugins: &[&str], keys: &[&str]) {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let allowed = DefinitionIpam { plugins: list(plugins), keys: list(keys), ..DefinitionIpam::default() };
        allowed.write(&self.roots).unwrap();
    }

    /// A pod with a `usnet` volume, as prepared by kubelet before the sandbox starts.
    pub(crate) fn pod(&self, name: &str) -> Pod {
        let pod = Pod::new(&self.roots, NAMESPACE, name);
        // Like kubelet's mode, independent of the umask.
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&pod.volume).unwrap();
        fs::set_permissions(&pod.volume, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        pod
    }

    /// The network namespace that a runtime passes.
    pub(crate) fn network_namespace(&self) -> &Path {
        Path::new(NETWORK_NAMESPACE)
    }

    /// The Open vSwitch of a node that has one.
    pub(crate) fn open_vswitch(&mut self) -> &mut OpenVswitch {
        let TestEngine::OpenVswitch(switch) = &mut self.engine else { panic!("a test of Open vSwitch alone") };
        switch
    }

    /// The VPP of a node that has one.
    pub(crate) fn vpp(&self) -> &Vpp {
        let TestEngine::Vpp(vpp) = &self.engine else { panic!("a test of VPP alone") };
        vpp
    }

    /// Replaces the VPP by one of the same kind, without a plugin.
    pub(crate) fn replace_vpp_without(&mut self, plugin: &str) {
        let vpp = Vpp::builder(self.vpp().kind()).without_plugin(plugin).start().expect("VPP");
        self.engine = TestEngine::Vpp(vpp);
    }

    /// The names of the ports of a network.
    pub(crate) fn ports(&self, network: &str) -> Vec<String> {
        self.engine.ports(&self.bridge_of(network))
    }

    /// The mounts below the run folder, in this namespace: path and options.
    pub(crate) fn mounts(&self) -> Vec<(PathBuf, BTreeSet<String>)> {
        mounts_below(&self.roots.run, &fs::read_to_string("/proc/thread-self/mountinfo").unwrap())
    }

    /// The same, as Open vSwitch's namespace sees them.
    pub(crate) fn mounts_of_switch(&mut self) -> Vec<(PathBuf, BTreeSet<String>)> {
        let observed = self.open_vswitch().command("cat").arg("/proc/self/mountinfo").output().unwrap();
        mounts_below(&self.roots.run, &String::from_utf8(observed.stdout).unwrap())
    }

    /// The files of the journal.
    pub(crate) fn records(&self) -> Vec<PathBuf> {
        list(&self.roots.attachments()).into_iter().filter(|path| path.extension().is_some()).collect()
    }

    /// The files of the journal and its index and the folders of pods: empty when nothing is
    /// attached.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let visible = |path: &PathBuf| path.file_name().is_some_and(|name| name != ".lock");
        let keys = list(&self.roots.index()).into_iter().flat_map(|bucket| list(&bucket));
        let others = [self.roots.attachments(), self.roots.ports()].into_iter().flat_map(|folder| list(&folder));
        others.filter(visible).chain(keys).collect()
    }

    /// The ends of veth pairs on the node.
    pub(crate) fn devices(&self) -> Vec<String> {
        let observed = ip(&["-o", "link", "show", "type", "veth"]);
        observed.lines().filter_map(|line| Some(line.split([':', '@']).nth(1)?.trim().to_owned())).collect()
    }

    /// Asserts that nothing of any attachment remains: no port, no device, no mount, no file.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.devices(), Vec::<String>::new());
        assert_eq!(self.ports(NETWORK), Vec::<String>::new());
        self.engine.assert_no_leftovers();
        self.assert_no_files();
    }

    /// The same, without the engine.
    #[track_caller]
    pub(crate) fn assert_no_files(&self) {
        assert_eq!(self.mounts(), []);
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new());
    }
}

/// Runs `ip` in the network namespace of the thread.
#[track_caller]
pub(crate) fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The record in a file: its last line.
pub(crate) fn record_in(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(text.lines().last().expect("a record")).unwrap()
}

/// A configuration as the controller writes it.
pub(crate) fn configuration(network: &str) -> Value {
    json!({"cniVersion": "1.1.0", "name": network, "type": "userspace", "network": network})
}

/// Runs the plugin, and fails when it exceeds kubelet's timeout.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Output {
    let started = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may exit without reading.
    let _written = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Output { output, took: started.elapsed() }
}

/// The folder of the real IPAM plugins, if they were built.
pub(crate) fn tools() -> Option<PathBuf> {
    let folders = std::env::var_os("USNET_TOOLS").map(|folders| std::env::split_paths(&folders).collect());
    let folders = folders.unwrap_or_else(|| {
        let cache = PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/usnet/tools");
        list(&cache)
    });
    folders.into_iter().find(|folder: &PathBuf| folder.join("dhcp").exists())
}

pub(crate) fn plugin_path() -> OsString {
    tools().map_or_else(|| "/nonexistent".into(), PathBuf::into_os_string)
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The format is that of proc_pid_mountinfo(5): the fifth field is the mount point, the sixth its
/// options.
fn mounts_below(root: &Path, observed: &str) -> Vec<(PathBuf, BTreeSet<String>)> {
    let fields = observed.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let all = fields.map(|fields| (PathBuf::from(fields[4]), fields[5].split(',').map(str::to_owned).collect()));
    all.filter(|(path, _)| path != root && path.starts_with(root)).collect()
}
