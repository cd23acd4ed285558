//! What is done to a node under traffic.

use super::stream::Stream;
use crate::support::cluster::{NODES, check, eventually, get, kubectl, run, timeout};
use crate::support::control_plane::controllers::{agent_process, await_both, leader, lease, process, signal};
use crate::support::pods::NODE;
use crate::support::scene::{ENGINE_GONE, agent_pod, await_condition, wait_ready};
use std::time::{Duration, Instant};

/// A part that is killed with SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The agent of the node. kubelet starts it again.
    Agent,
    /// The controller that leads. The other one takes over.
    Controller,
    /// A program of the test bed that is started again at once, of a node or of the control plane.
    Program(&'static str, Option<&'static str>),
    /// An engine, which is started again once its networks say that they are not ready.
    Engine {
        /// The program.
        program: &'static str,
        /// The start of the names of its networks.
        networks: &'static str,
    },
}

/// All faults, in the order in which they happen.
pub(super) const FAULTS: [Fault; 8] = [
    Fault::Agent,
    Fault::Controller,
    Fault::Program("kube-apiserver", None),
    Fault::Program("kubelet", Some(NODE)),
    Fault::Program("containerd", Some(NODE)),
    Fault::Program("ovsdb-server", Some(NODE)),
    Fault::Engine { program: "ovs-vswitchd", networks: "faults-ovs" },
    Fault::Engine { program: "vpp", networks: "faults-vpp" },
];

/// How long an engine's networks took to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recovery {
    /// From its death to `Ready=False`.
    pub(super) not_ready: Duration,
    /// From its start to the first packet, if the stream is on that engine.
    pub(super) packets: Option<Duration>,
    /// From its start to `Ready=True`.
    pub(super) ready: Duration,
}

impl Fault {
    /// What the table calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
            Self::Program(program, _) | Self::Engine { program, .. } => program,
        }
    }

    /// Whether it takes the data path of a stream along.
    pub(super) fn interrupts(self, stream: &Stream) -> bool {
        matches!(self, Self::Engine { networks, .. } if networks == stream.name)
    }

    /// Kills it, and waits until all of `networks` are ready again.
    pub(super) fn inflict(self, networks: &[&str], streams: &[Stream]) -> Option<Recovery> {
        let recovery = match self {
            Self::Agent => {
                kill_agent();
                None
            }
            Self::Controller => {
                kill_controller();
                None
            }
            Self::Program(program, node) => {
                let name: Vec<&str> = [program].into_iter().chain(node).collect();
                run("component", &[&["stop"], name.as_slice()].concat());
                run("component", &[&["start"], name.as_slice()].concat());
                None
            }
            Self::Engine { program, networks: own } => {
                let own: Vec<&str> = networks.iter().copied().filter(|network| network.starts_with(own)).collect();
                let stream = streams.iter().find(|stream| self.interrupts(stream));
                Some(kill_engine(program, &own, stream))
            }
        };
        eventually("the API server", || {
            crate::support::cluster::try_run("kubectl", &["get", "--raw", "/readyz"], "").map(drop)
        });
        networks.iter().for_each(|network| wait_ready(network));
        recovery
    }
}

fn kill_agent() {
    let pod = agent_pod(NODE);
    // How often its containers were started again, once all of them are ready.
    let restarts = || {
        let object = get(&["pod", &pod, "-n", "usnet-system"]).ok_or("the agent's pod is gone")?;
        let containers = object["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
        check(containers.iter().all(|container| container["ready"] == true), object["status"].to_string())?;
        Ok::<_, String>(containers.iter().filter_map(|container| container["restartCount"].as_u64()).sum::<u64>())
    };
    let before = eventually("a ready agent", restarts);
    signal("-KILL", &agent_process(NODE));
    eventually("another agent", || {
        let now = restarts()?;
        check(now > before, format!("restarted {now} times"))
    });
}

fn kill_controller() {
    signal("-KILL", &process(&leader()));
    // kubelet may start it again before the other one takes over; then it leads as before.
    let last = lease()["renewTime"].clone();
    eventually("a leader that renews the lease", || {
        let lease = lease();
        check(lease["renewTime"] != last, lease.to_string())
    });
    await_both();
}

fn kill_engine(program: &str, networks: &[&str], stream: Option<&Stream>) -> Recovery {
    let dead = Instant::now();
    run("component", &["stop", program, NODE]);
    networks.iter().for_each(|network| drop(await_condition(network, "Ready", "False", ENGINE_GONE)));
    let not_ready = dead.elapsed();
    let started = Instant::now();
    run("component", &["start", program, NODE]);
    let packets = stream.map(|stream| stream.await_arrival_after(started) - started);
    for network in networks {
        kubectl(&["wait", "--for=condition=Ready", &format!("usn/{network}"), timeout()]);
    }
    Recovery { not_ready, packets, ready: started.elapsed() }
}

/// What usnet logs on each node, for a failed run.
pub(super) fn logs() -> String {
    NODES.map(crate::support::scene::agent_log).join("\n")
}
