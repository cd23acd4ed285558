//! Faults of a node under traffic between nodes.

use super::Connected;
use super::streams::Streams;
use crate::support::cluster::run;
use crate::support::faults::power::{self, Containers};
use crate::support::faults::programs::{await_socket, kill_agent};
use crate::support::scene::{ENGINE_GONE, Scene, await_condition};
use crate::support::station::Station;
use crate::support::vpp;
use std::thread;
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A program of an engine is killed, and started again once its networks are not ready.
    Engine { program: &'static str, engine: &'static str },
    /// kubelet starts it again.
    Agent,
    /// The node loses its power and boots again.
    Reboot,
}

const VPP: Fault = Fault::Engine { program: "vpp", engine: "VPP" };

pub(super) const ALL: [Fault; 5] = [
    Fault::Agent,
    Fault::Engine { program: "ovsdb-server", engine: "OVS" },
    Fault::Engine { program: "ovs-vswitchd", engine: "OVS" },
    VPP,
    Fault::Reboot,
];
/// The faults that concern only segments of VPP.
pub(super) const OF_VPP: [Fault; 3] = [Fault::Agent, VPP, Fault::Reboot];

impl Fault {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Engine { program: "ovs-vswitchd", .. } => "ovs-vswitchd killed",
            Self::Engine { program: "ovsdb-server", .. } => "ovsdb-server killed",
            Self::Engine { .. } => "vpp killed",
            Self::Agent => "agent killed",
            Self::Reboot => "node rebooted (from its boot)",
        }
    }

    /// Whether broadcasts to or from the node may be lost in segments of these engines.
    pub(super) fn interrupts(self, engines: &[&str]) -> bool {
        match self {
            Self::Engine { engine, .. } => engines.contains(&engine),
            Self::Agent => false,
            Self::Reboot => true,
        }
    }

    pub(super) const fn has_target(self) -> bool {
        matches!(self, Self::Engine { .. })
    }

    /// Injects the fault, and returns the time from which on traffic should recover.
    pub(super) fn inflict(self, scene: &Scene, node: &'static str, all: &mut [Connected<'_>]) -> Instant {
        match self {
            Self::Engine { program: "vpp", .. } if !vpp::is_real() => Instant::now(),
            Self::Engine { program, engine } => {
                run("component", &["stop", program, node]);
                let networks = all.iter().flat_map(|connected| connected.segment.networks());
                let networks = networks.filter(|(of, _)| *of == engine);
                networks.for_each(|(_, network)| drop(await_condition(&network, "Ready", "False", ENGINE_GONE)));
                let starter = thread::spawn(move || run("component", &["start", program, node]));
                let back = await_socket(program, node);
                starter.join().unwrap();
                back
            }
            Self::Agent => {
                kill_agent(node);
                Instant::now()
            }
            Self::Reboot => reboot(scene, node, all),
        }
    }
}

/// The streams of the node's own pods end with it, and begin again with their next containers.
fn reboot(scene: &Scene, node: &str, all: &mut [Connected<'_>]) -> Instant {
    let gone: Vec<Vec<String>> = all.iter_mut().map(|connected| connected.streams.remove(node)).collect();
    let before = Containers::of(scene, node);
    power::cut(node);
    let booted = Instant::now();
    power::boot(node);
    before.await_replacement();
    let add = |streams: &mut Streams, names: Vec<String>| {
        names.into_iter().for_each(|name| streams.add(Station::of_pod(scene, &name)));
    };
    all.iter_mut().zip(gone).for_each(|(connected, names)| add(&mut connected.streams, names));
    booted
}
