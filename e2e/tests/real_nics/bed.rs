//! Two nodes with an engine and an agent each.

use crate::setup::{Engine, NIC, PCI, Setup};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use usnet_e2e::engines::vpp;
use usnet_e2e::engines::vpp_program::VppProgram;
use usnet_e2e::host::wait;
use usnet_e2e::machines::machine::Machine;
use usnet_e2e::machines::pair::{Pair, PairSpec};
use usnet_e2e::testbed::progress;

/// The time limit of a condition.
const WITHIN: Duration = Duration::from_secs(60);

/// Two nodes. They end when this is dropped, and print their logs if the test has failed.
pub(crate) struct Bed {
    pub(crate) pair: Pair,
    pub(crate) setup: Setup,
    /// The folder of the static programs `usnet` and `userspace`.
    pub(crate) binaries: PathBuf,
}

impl Bed {
    /// Starts both with the engine; none if this machine cannot, which is printed and counted.
    pub(crate) fn start(setup: Setup) -> Option<Self> {
        let packages = setup.packages()?;
        let binaries = std::env::var_os("USNET_IMAGE_BINARIES").map(PathBuf::from);
        let binaries =
            binaries.expect("USNET_IMAGE_BINARIES names the folder of the static programs: `make real-nics`");
        let begun = Instant::now();
        let spec = PairSpec { nics: vec![setup.model; NIC + 1], ..PairSpec::default() };
        let pair = Pair::start(&packages, &spec).unwrap_or_else(|error| panic!("{}", progress::with_causes(&error)));
        let booted = pair.both().map(Machine::started_within).into_iter().max().unwrap_or_default();
        let bed = Self { pair, setup, binaries };
        bed.on_both(|machine| bed.start_engine(machine));
        println!(
            "{setup}: machines after {:.1} s, engines after {:.1} s",
            booted.as_secs_f32(),
            begun.elapsed().as_secs_f32()
        );
        Some(bed)
    }

    /// Starts both with the engine and agents, whose uplinks and networks are programmed; none as
    /// [`Self::start`].
    pub(crate) fn programmed(setup: Setup) -> Option<Self> {
        let bed = Self::start(setup)?;
        bed.start_agents();
        let manifests = setup.manifests(&json!({"type": "PciAddress", "pciAddress": PCI}));
        bed.on_both(|machine| Self::apply(machine, &manifests));
        bed.on_both(|machine| {
            Self::await_uplink(machine, "Programmed", "");
            Self::await_networks(machine);
        });
        Some(bed)
    }

    fn start_engine(&self, machine: &Machine) {
        match (self.setup.engine, VppProgram::find()) {
            (Engine::Vpp, VppProgram::Real(program)) => {
                fs::write(machine.share().join("vpp.conf"), vpp::configuration(&program)).unwrap();
                run(machine, &format!("/machine/node vpp {} /machine/vpp.conf", program.display()));
            }
            _ => drop(run(machine, "/machine/node openvswitch")),
        }
    }

    /// Starts the agents, which follow a folder without manifests.
    pub(crate) fn start_agents(&self) {
        self.on_both(|machine| {
            fs::create_dir_all(machine.share().join("manifests")).unwrap();
            run(machine, &format!("/machine/node agent {}", self.program("usnet")));
        });
    }

    pub(crate) fn program(&self, name: &str) -> String {
        self.binaries.join(name).display().to_string()
    }

    /// Does the same on both nodes at once.
    pub(crate) fn on_both<T: Send>(&self, work: impl Fn(&Machine) -> T + Sync) -> [T; 2] {
        let [left, right] = self.pair.both();
        thread::scope(|scope| {
            let first = scope.spawn(|| work(left));
            let second = work(right);
            [first.join().unwrap(), second]
        })
    }

    /// Replaces the manifests of a node; with an empty text it has none.
    pub(crate) fn apply(machine: &Machine, manifests: &str) {
        let folder = machine.share().join("manifests");
        fs::write(folder.join(".new"), manifests).unwrap();
        // The kernel of the machine reports its own changes to the agent, not those in a share.
        run(machine, "cd /machine/manifests && mv .new all.yaml");
    }

    /// Waits until the agent says this of the uplink, and gives its report and the time.
    #[track_caller]
    pub(crate) fn await_uplink(machine: &Machine, state: &str, reason: &str) -> (Value, Duration) {
        let start = Instant::now();
        let report = eventually(&format!("{}: the uplink is {state} {reason}", machine.name()), || {
            let uplinks = Self::state(machine)?["uplinks"].take();
            let entry = uplinks.as_array().and_then(|all| all.first()).cloned().unwrap_or_default();
            match entry["state"] == state && entry["reason"].as_str().unwrap_or_default() == reason {
                true => Ok(entry),
                false => Err(entry.to_string()),
            }
        });
        (report, start.elapsed())
    }

    /// Waits until all networks are programmed.
    #[track_caller]
    pub(crate) fn await_networks(machine: &Machine) {
        eventually(&format!("{}: the networks are programmed", machine.name()), || {
            let state = Self::state(machine)?;
            assert_eq!(state["manifestProblems"].as_array().map_or(0, Vec::len), 0, "{}", state["manifestProblems"]);
            let networks = state["networks"].as_array().cloned().unwrap_or_default();
            let is_programmed = |network: &Value| network["state"] == "Programmed";
            match networks.len() == 2 && networks.iter().all(is_programmed) {
                true => Ok(()),
                false => Err(state["networks"].to_string()),
            }
        });
    }

    /// Waits until the uplink has left.
    #[track_caller]
    pub(crate) fn await_no_uplink(machine: &Machine) {
        eventually(&format!("{}: the uplink has left", machine.name()), || {
            let state = Self::state(machine)?;
            match state["uplinks"].as_array().is_none_or(Vec::is_empty) {
                true => Ok(()),
                false => Err(state["uplinks"].to_string()),
            }
        });
    }

    /// What the agent reports of its node.
    pub(crate) fn state(machine: &Machine) -> Result<Value, String> {
        let text = machine.run("cat /run/usnet/state.json").map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// The NICs of a node: their names, MAC addresses, drivers, flags and changeable features.
    pub(crate) fn nics(machine: &Machine) -> String {
        run(
            machine,
            "for nic in /sys/class/net/eth*; do \
                 name=${nic##*/}; device=$(readlink -f $nic/device); case $device in */virtio*) device=${device%/*} ;; esac; \
                 echo $name $(cat $nic/address) ${device##*/} $(readlink $nic/device/driver | sed 's|.*/||') mtu $(cat $nic/mtu); \
                 ethtool -k $name | grep -e gro: -e generic-receive -e rx-gro-hw -e lro -e rx-vlan-offload; ip -d link show $name | grep -o 'promiscuity [0-9]*'; \
             done",
        )
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if thread::panicking() {
            for machine in self.pair.both() {
                eprintln!("=== {} ===\n{}", machine.name(), machine.logs());
                let state = Self::state(machine).map_or_else(|error| error, |state| format!("{state:#}"));
                eprintln!("--- state of its agent\n{state}");
            }
        }
    }
}

/// Runs a script, which must succeed.
#[track_caller]
pub(crate) fn run(machine: &Machine, script: &str) -> String {
    machine.run(script).unwrap_or_else(|error| panic!("{}", progress::with_causes(&error)))
}

/// Waits until something succeeds.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let (mut found, mut last) = (None, String::new());
    wait::until(wait::scaled(WITHIN), || match attempt() {
        Ok(value) => {
            found = Some(value);
            true
        }
        Err(error) => {
            last = error;
            false
        }
    });
    found.unwrap_or_else(|| panic!("not within {WITHIN:?}: {what}; at last: {last}"))
}
