//! What is done to a node under traffic.

use super::disk::{self, Disk};
use super::traffic::Traffic;
use super::{agents, engine, reboot, sandbox};
use crate::outages::api_server::Outage;
use crate::support::cluster::{NODES, condition, eventually, get, run, try_run};
use crate::support::control_plane::controllers::{NAMESPACE, lease};
use crate::support::pods::NODE;
use crate::support::scene::{Scene, agent_pod};
use std::thread;
use std::time::{Duration, Instant};

/// Something that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The agent of the node is killed. kubelet starts it again.
    Agent,
    /// The leading controller is killed, and the other one takes over.
    Controller,
    /// A program of the test bed is killed and started again at once, of a node or of the control
    /// plane.
    Program(&'static str, Option<&'static str>),
    /// The API server is away for longer than the controllers' lease.
    NoApiServer,
    /// A program of an engine is killed, and started again once the engine's networks say that
    /// they are not ready.
    Engine {
        /// The program.
        program: &'static str,
        /// The engine.
        engine: &'static str,
    },
    /// All processes of the node are killed, and its `/run` is empty at its boot.
    Reboot,
    /// The sandboxes of two pods are removed without kubelet.
    Sandbox,
    /// A disk is full or read-only.
    Disk(Disk),
    /// A second agent is started on the node, and takes over when the first one ends.
    SecondAgent,
}

const VSWITCHD: Fault = Fault::Engine { program: "ovs-vswitchd", engine: "OVS" };
const VPP: Fault = Fault::Engine { program: "vpp", engine: "VPP" };
/// Datagrams over a veth of Open vSwitch 3.1 are lost until ovs-vswitchd has its database again;
/// ports with threads of their own go on.
const OVSDB_SERVER: Fault = Fault::Engine { program: "ovsdb-server", engine: "OVS" };

/// All faults, in the order of their injection.
pub(super) const ALL: [Fault; 16] = [
    Fault::Agent,
    Fault::SecondAgent,
    Fault::Controller,
    Fault::Program("kube-apiserver", None),
    Fault::NoApiServer,
    Fault::Program("kubelet", Some(NODE)),
    Fault::Program("containerd", Some(NODE)),
    OVSDB_SERVER,
    VSWITCHD,
    VPP,
    Fault::Sandbox,
    Fault::Disk(Disk::StateFull),
    Fault::Disk(Disk::StateReadOnly),
    Fault::Disk(Disk::RunFull),
    Fault::Disk(Disk::RunReadOnly),
    Fault::Reboot,
];

/// The faults that no other test injects under traffic.
pub(super) const SHORT: [Fault; 7] = [
    Fault::Agent,
    Fault::Program("kubelet", Some(NODE)),
    Fault::Program("containerd", Some(NODE)),
    VSWITCHD,
    VPP,
    Fault::Sandbox,
    Fault::Reboot,
];

/// The recovery times; `None` for parts that the fault does not concern.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recovery {
    /// From the fault to `Ready=False`.
    pub(super) not_ready: Option<Duration>,
    /// From the end of the fault until all ports are there.
    pub(super) ports: Option<Duration>,
    /// From the end of the fault to the first datagram.
    pub(super) packets: Option<Duration>,
    /// From the end of the fault to `Ready=True`.
    pub(super) ready: Option<Duration>,
}

impl Fault {
    /// The name in the table.
    pub(super) fn name(self) -> String {
        match self {
            Self::Agent => "agent killed".into(),
            Self::Controller => "leading controller killed".into(),
            Self::Program(program, _) | Self::Engine { program, .. } => format!("{program} killed"),
            Self::NoApiServer => "API server away".into(),
            Self::Reboot => "node rebooted".into(),
            Self::Sandbox => "two sandboxes removed".into(),
            Self::Disk(disk) => disk.name(),
            Self::SecondAgent => "second agent".into(),
        }
    }

    /// Whether datagrams over that engine may be lost.
    pub(super) fn interrupts(self, of: &str) -> bool {
        match self {
            Self::Engine { engine, .. } => engine == of,
            Self::Reboot => true,
            _ => false,
        }
    }

    /// Whether networks are not ready meanwhile.
    pub(super) fn is_reported(self) -> bool {
        matches!(self, Self::Engine { .. } | Self::Reboot | Self::Disk(_))
    }

    /// Injects the fault, and waits until the affected part works again.
    pub(super) fn inflict(self, scene: &Scene, traffic: &mut Traffic) -> Recovery {
        match self {
            Self::Agent => agents::kill(),
            Self::Controller => agents::kill_controller(),
            Self::Program(program, node) => restart(program, node),
            Self::NoApiServer => without_api_server(),
            Self::Engine { program, engine } => engine::kill(program, engine, traffic.stream(engine)),
            Self::Reboot => reboot::reboot(scene, traffic),
            Self::Sandbox => sandbox::remove(scene),
            Self::Disk(disk) => disk::fill(disk, scene),
            Self::SecondAgent => agents::start_second(),
        }
    }
}

fn restart(program: &str, node: Option<&str>) -> Recovery {
    let name: Vec<&str> = [program].into_iter().chain(node).collect();
    run("component", &[&["stop"], name.as_slice()].concat());
    let started = Instant::now();
    run("component", &[&["start"], name.as_slice()].concat());
    await_api_server();
    Recovery { ready: Some(started.elapsed()), ..Recovery::default() }
}

fn without_api_server() -> Recovery {
    let lasts = Duration::from_secs(lease()["leaseDurationSeconds"].as_u64().unwrap()) * 4 / 3;
    let outage = Outage::begin();
    // That it is away for so long is the fault.
    thread::sleep(lasts);
    let back = Instant::now();
    outage.end();
    await_api_server();
    Recovery { ready: Some(back.elapsed()), ..Recovery::default() }
}

fn await_api_server() {
    eventually("the API server", || try_run("kubectl", &["get", "--raw", "/readyz"], "").map(drop));
}

/// When the networks last became ready or not.
pub(super) fn transitions(networks: &[&str]) -> Vec<String> {
    let of = |network: &&str| {
        let object = get(&["usn", network]).unwrap();
        condition(&object, "Ready").map(|ready| ready["lastTransitionTime"].to_string()).unwrap_or_default()
    };
    networks.iter().map(of).collect()
}

/// Prints the logs of usnet on each node after a failed run, in which kubelet may have failed.
pub(super) fn logs() -> String {
    let log = |node| try_run("kubectl", &["logs", &agent_pod(node), "-n", NAMESPACE], "").unwrap_or_else(|error| error);
    NODES.map(log).join("\n")
}
