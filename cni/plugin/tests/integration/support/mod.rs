//! A node for one test: an engine, kubelet's folders, and the plugin as a program.
//!
//! The test runs in a thread with a separate mount namespace and a separate network namespace,
//! which Open vSwitch shares, and with a new file system on `/run`, where all of the node's files
//! are: all mounts and files are removed with the thread, also when the test is killed.

pub(crate) mod app_netutil;
pub(crate) mod breakdown;
mod calls;
pub(crate) mod cnitool;
pub(crate) mod engine;
pub(crate) mod ipam;
mod kubelet;
mod leftovers;
pub(crate) mod legacy;
mod networks;
pub(crate) mod output;
pub(crate) mod pod;
pub(crate) mod port_types;
mod steps;
pub(crate) mod tools;
mod traced;
pub(crate) mod vpp;
pub(crate) mod wait;

use engine::TestEngine;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use output::Output;
use pod::Pod;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use usnet_crds::EngineKind;
use usnet_dataplane::paths::NodePaths;
use usnet_test_openvswitch::{Builder, OpenVswitch};
use usnet_test_vpp::{Kind, Vpp};

/// The network that every node has, without IPAM.
pub(crate) const NETWORK: &str = "blue";
/// The namespace whose pods may attach to the network.
pub(crate) const NAMESPACE: &str = "db";

/// The network namespace of pods, as a runtime passes it.
pub(crate) const NETWORK_NAMESPACE: &str = "/run/netns/p";

pub(crate) struct TestNode {
    pub(crate) engine: TestEngine,
    pub(crate) paths: NodePaths,
}

/// Runs a test on a node with a separate Open vSwitch.
pub(crate) fn on_a_node(test: impl FnOnce(&mut TestNode) + Send + 'static) {
    on_a_node_with(OpenVswitch::builder().dpdk(true), test);
}

/// Runs a test on a node with this build of Open vSwitch.
pub(crate) fn on_a_node_with(switch: Builder, test: impl FnOnce(&mut TestNode) + Send + 'static) {
    on_a_node_of(|| TestEngine::open_vswitch(switch), test);
}

/// Runs a test on a node with a separate VPP, if such a VPP is available.
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

/// Creates the namespaces of the node. Mounts are shared inside, as on a node, so that Open
/// vSwitch's namespace (a slave of this one, like that of a container) sees them. Devices that the
/// plugin creates are removed with the thread.
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
        let paths = NodePaths {
            run: "/run/usnet".into(),
            state: "/run/state".into(),
            kubelet: "/run/kubelet".into(),
            device_info: "/run/devinfo".into(),
            cdi: "/run/cdi".into(),
            processes: "/proc".into(),
            sysfs: "/sys".into(),
            legacy_root: "/run/older".into(),
            cni_configurations: Vec::new(),
            engine_sockets: EngineKind::ALL.map(|engine| (engine, "/run/nowhere".into())).into(),
            network_namespace: None,
        };
        let node = Self { engine, paths };
        if let TestEngine::OpenVswitch(switch) = &node.engine {
            setns(File::open(switch.network_namespace()).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
        }
        create_network_namespace(NETWORK_NAMESPACE);
        node.program_network(NETWORK, None);
        node
    }

    /// A pod with a `usnet` volume, as prepared by kubelet before the sandbox starts.
    pub(crate) fn pod(&self, name: &str) -> Pod {
        let pod = Pod::new(&self.paths, NAMESPACE, name);
        // kubelet sets this mode, independent of the umask.
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
}

/// Runs `ip` in the network namespace of the thread.
#[track_caller]
pub(crate) fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The record in a file, which is the last line.
pub(crate) fn record_in(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(text.lines().last().expect("a record")).unwrap()
}

/// A configuration as the controller writes it.
pub(crate) fn configuration(network: &str) -> Value {
    json!({"cniVersion": "1.1.0", "name": network, "type": "userspace", "network": network})
}

/// The configuration of a CHECK after an ADD with this result.
pub(crate) fn with_result(configuration: &Value, result: &Value) -> Value {
    let mut configuration = configuration.clone();
    configuration["prevResult"] = result.clone();
    configuration
}

/// Runs the plugin.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Output {
    let started = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The plugin may exit without reading.
    let _written = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Output { output, took: started.elapsed() }
}
