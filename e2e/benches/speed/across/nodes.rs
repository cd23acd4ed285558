//! Two nodes with an engine each, joined by their NICs.

use crate::host::namespaces::{of_pod, within};
use crate::host::programs::timed;
use nix::unistd::Pid;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

/// The MTU of a network over NICs of 1500.
pub(crate) const MTU: i64 = 1450;
pub(crate) const VNI: i64 = 7001;

/// What forwards the packets of a node.
pub(crate) enum Engine {
    OpenVswitch(OpenVswitch),
    Vpp(Vpp),
}

/// A node, with its NIC `eth0`.
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) address: Ipv4Addr,
    pub(crate) namespace: PathBuf,
}

impl Node {
    fn start(kind: EngineKind, address: [u8; 4]) -> Self {
        let address = address.into();
        match kind {
            EngineKind::OpenVswitch => {
                let switch = OpenVswitch::start().expect("Open vSwitch starts");
                Self { namespace: switch.network_namespace(), engine: Engine::OpenVswitch(switch), address }
            }
            EngineKind::Vpp => {
                // Network namespaces that no pod has.
                static NEXT: AtomicUsize = AtomicUsize::new(100);
                let namespace = of_pod(NEXT.fetch_add(1, Ordering::Relaxed));
                let vpp = within(&namespace, || Vpp::start(Kind::Real).expect("VPP starts"));
                Self { engine: Engine::Vpp(vpp), address, namespace }
            }
        }
    }

    /// A node with Open vSwitch whose NIC leads nowhere.
    pub(crate) fn alone() -> Self {
        let node = Self::start(EngineKind::OpenVswitch, [10, 0, 0, 1]);
        node.ip("link add eth0 type veth peer name wire");
        node.ip("link set wire up");
        node.configure();
        node
    }

    /// Two nodes with one wire.
    pub(crate) fn pair(kind: EngineKind) -> [Self; 2] {
        let nodes = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|address| Self::start(kind, address));
        ip("link add left type veth peer name right");
        for (node, end) in nodes.iter().zip(["left", "right"]) {
            // A name of a file in this program's own mount namespace.
            ip(&format!("link set {end} netns {}", node.namespace.display()));
            node.ip(&format!("link set {end} name eth0"));
            node.configure();
        }
        nodes
    }

    fn configure(&self) {
        self.ip(&format!("addr add {}/24 dev eth0", self.address));
        self.ip("link set eth0 up");
    }

    pub(crate) const fn kind(&self) -> EngineKind {
        match self.engine {
            Engine::OpenVswitch(_) => EngineKind::OpenVswitch,
            Engine::Vpp(_) => EngineKind::Vpp,
        }
    }

    /// The control socket of its engine.
    pub(crate) fn socket(&self) -> &Path {
        match &self.engine {
            Engine::OpenVswitch(switch) => switch.socket(),
            Engine::Vpp(vpp) => vpp.socket(),
        }
    }

    /// `ip` in its network namespace.
    pub(crate) fn ip(&self, arguments: &str) {
        self.run("ip", arguments);
    }

    /// A command in its network namespace, and in the mounts of this program.
    pub(crate) fn run(&self, program: &str, arguments: &str) {
        self.within(|| timed(Command::new(program).args(arguments.split(' '))));
    }

    /// Does something in its network namespace.
    pub(crate) fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        within(&self.namespace, act)
    }

    /// The CPU time of its engine so far.
    pub(crate) fn cpu(&self) -> Duration {
        let process = match &self.engine {
            Engine::OpenVswitch(_) => self.vswitchd(),
            Engine::Vpp(vpp) => Pid::from_raw(vpp.pid().and_then(|pid| pid.try_into().ok()).expect("a running VPP")),
        };
        let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("the engine runs").flatten();
        let nanoseconds = tasks.map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or_default()
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// The process of its switch, which has another number in its own namespace.
    fn vswitchd(&self) -> Pid {
        let namespace = fs::read_link(&self.namespace).expect("its namespace");
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        let is_it = |path: &Path| {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            name.trim() == "ovs-vswitchd" && fs::read_link(path.join("ns/net")).is_ok_and(|link| link == namespace)
        };
        let mut found = processes.filter(|process| is_it(&process.path()));
        let number = found.find_map(|process| process.file_name().to_str()?.parse().ok());
        Pid::from_raw(number.expect("a running switch"))
    }
}

fn ip(arguments: &str) {
    timed(Command::new("ip").args(arguments.split(' ')));
}
