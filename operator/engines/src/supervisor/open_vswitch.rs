//! Open vSwitch: its database server, and the switch.
//!
//! The database is beside the sockets, in memory: it outlives the pod, so that a new switch creates
//! all bridges and ports at its start, and ends with a reboot, after which the agent creates them.

use super::blocked::Blocked;
use super::cpus::{Cpus, allowed, mask};
use super::numa::{self, Numa, Placement};
use nix::unistd::gethostname;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::sleep;
use usnet_crds::conditions::reason::{ENGINE_FAILS, ENGINE_FOREIGN, FILES_NOT_WRITABLE};
use usnet_crds::userspace_engine::spec::EngineNics;
use usnet_crds::userspace_engine::types::MemorySize;
use usnet_crds::userspace_engine::validate::ValidEngine;

/// Where agent and plugin expect the sockets.
const FOLDER: &str = "/run/openvswitch";
const SOCKET: &str = "/run/openvswitch/db.sock";
const DATABASE: &str = "/run/openvswitch/conf.db";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

const SERVER: &str = "ovsdb-server";
const SWITCH: &str = "ovs-vswitchd";

/// From here on all ports share one pool of packets, as is the default of Open vSwitch, which needs
/// 788 MiB for it. With less memory each port gets a pool of 62 MiB.
const SHARED_POOL: MemorySize = MemorySize::from_mib(2048);
/// How often it is looked whether the server accepts connections.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct OpenVswitch {
    name: String,
    valid: ValidEngine,
}

impl OpenVswitch {
    pub(super) const PROCESSES: [&'static str; 2] = [SERVER, SWITCH];

    pub(super) fn new(name: &str, valid: &ValidEngine) -> Self {
        Self { name: name.to_owned(), valid: valid.clone() }
    }

    pub(super) async fn prepare(&self, place: usize, is_first: bool) -> Result<Command, Blocked> {
        match place {
            0 => prepare_server(is_first).await,
            _ => self.prepare_switch().await,
        }
    }

    async fn prepare_switch(&self) -> Result<Command, Blocked> {
        // What the switch before it said: the start is over when this one says it.
        run("ovs-vsctl", ["--no-wait", "set", "Open_vSwitch", ".", "dpdk_initialized=false"]).await?;
        Ok(daemon(SWITCH, &[&format!("unix:{SOCKET}")]))
    }

    /// Writes what a database needs: one that was damaged and made again is empty.
    async fn write_settings(&self) -> Result<(), Blocked> {
        let cpus = Cpus::choose(&self.valid.cpus, &allowed(&self.valid.cpus))?;
        let version = run(SWITCH, ["--version"]).await?;
        let placement = Placement::of(&self.valid, &cpus, &Numa::read(Path::new(numa::FOLDER)))?;
        let settings = settings(&self.name, &self.valid, &cpus, &placement);
        let mut arguments = replacement(&settings);
        arguments.push(format!("external_ids:hostname=\"{}\"", host()));
        arguments.push(format!("ovs_version={}", version_in(&version)));
        run("ovs-vsctl", arguments).await.map(drop)
    }

    pub(super) async fn wait_until_it_serves(&self, place: usize) -> Result<(), Blocked> {
        if place == 0 {
            while UnixStream::connect(SOCKET).await.is_err() {
                sleep(POLL).await;
            }
            return self.write_settings().await;
        }
        // The switch has applied a change, and has DPDK.
        let started = format!("external_ids:usnet-started={}", jiff::Timestamp::now().as_millisecond());
        let change = ["set", "Open_vSwitch", ".", started.as_str()];
        let wait = ["--timeout=110", "wait-until", "Open_vSwitch", ".", "dpdk_initialized=true", "--"];
        run("ovs-vsctl", wait.into_iter().chain(change)).await.map(drop)
    }

    /// Both answer at their control sockets.
    pub(super) async fn acts(&self, place: usize) -> bool {
        let program = Self::PROCESSES.get(place).copied().unwrap_or(SWITCH);
        run("ovs-appctl", ["--timeout=4", "-t", program, "version"]).await.is_ok()
    }

    /// How long polling threads sleep is read while the switch runs.
    pub(super) async fn apply_at_once(&self) {
        let sleep = self.valid.idle_sleep_microseconds;
        let sleeps = SLEEP_KEYS.iter().map(|key| format!("other_config:{key}={sleep}"));
        let set = ["--no-wait", "set", "Open_vSwitch", "."].map(str::to_owned);
        if let Err(blocked) = run("ovs-vsctl", set.into_iter().chain(sleeps)).await {
            tracing::warn!("the new settings are not applied: {}", blocked.message);
        }
    }
}

/// The name of the setting until Open vSwitch 3.1, and since: there the first is deprecated, and
/// read only without the second.
const SLEEP_KEYS: [&str; 2] = ["pmd-maxsleep", "pmd-sleep-max"];
/// All settings that are usnet's (ovs-vswitchd.conf.db(5), other_config of Open_vSwitch).
const KEYS: [&str; 8] = [
    "dpdk-init",
    "dpdk-extra",
    "dpdk-socket-mem",
    "dpdk-lcore-mask",
    "pmd-cpu-mask",
    "per-port-memory",
    SLEEP_KEYS[0],
    SLEEP_KEYS[1],
];

/// The arguments of `ovs-vsctl` by which a database has these settings and none of earlier ones; a
/// last command, to which more columns may be added. Pure.
fn replacement(settings: &[(&'static str, String)]) -> Vec<String> {
    let mut arguments = vec!["--no-wait".to_owned(), "init".to_owned(), "--".to_owned()];
    let is_set = |key: &str| settings.iter().any(|(set, _)| *set == key);
    let others: Vec<String> = KEYS.iter().filter(|key| !is_set(key)).map(|key| (*key).to_owned()).collect();
    // Without a key it would be an error.
    if !others.is_empty() {
        arguments.extend(["remove", "Open_vSwitch", ".", "other_config"].map(str::to_owned));
        arguments.extend(others);
        arguments.push("--".to_owned());
    }
    arguments.extend(["set", "Open_vSwitch", "."].map(str::to_owned));
    arguments.extend(settings.iter().map(|(key, value)| format!("other_config:{key}=\"{value}\"")));
    arguments
}

/// The settings of the switch. Pure.
fn settings(name: &str, valid: &ValidEngine, cpus: &Cpus, placement: &Placement) -> Vec<(&'static str, String)> {
    let memory = valid.memory;
    // With an allow list that names nothing, DPDK takes no device until an uplink names it.
    let devices = match valid.nics {
        EngineNics::Kernel => "--no-pci",
        EngineNics::Pci => "-a 0000:00:00.0",
    };
    let (pages, socket_mem) = match memory.hugepages {
        Some(_) => (String::new(), Some(("dpdk-socket-mem", placement.socket_mem()))),
        // Without legacy-mem Open vSwitch adds --in-memory, which DPDK refuses beside no-huge.
        None => (format!(" --no-huge --legacy-mem --file-prefix=usnet-{name} -m {}", memory.packets.mib()), None),
    };
    let sleep = valid.idle_sleep_microseconds;
    let always = [
        ("dpdk-init", "true".to_owned()),
        ("dpdk-extra", format!("{devices}{pages}")),
        ("dpdk-lcore-mask", mask(&BTreeSet::from([cpus.main]))),
        ("pmd-cpu-mask", mask(&cpus.polling)),
        ("per-port-memory", (memory.packets < SHARED_POOL).to_string()),
        (SLEEP_KEYS[0], sleep.to_string()),
        (SLEEP_KEYS[1], sleep.to_string()),
    ];
    always.into_iter().chain(socket_mem).collect()
}

async fn prepare_server(is_first: bool) -> Result<Command, Blocked> {
    if UnixStream::connect(SOCKET).await.is_ok() {
        return Err(foreign(&format!("a database server that usnet does not run listens at {SOCKET}")));
    }
    if is_first && let Some(socket) = switch_of_others().await {
        return Err(foreign(&format!("an ovs-vswitchd that usnet does not run listens at {socket}")));
    }
    fs::create_dir_all(FOLDER).map_err(|error| Blocked::not_writable(Path::new(FOLDER), &error))?;
    let database = Path::new(DATABASE);
    if !database.exists() {
        tool(["create", DATABASE, SCHEMA]).await?;
    } else if tool(["needs-conversion", DATABASE, SCHEMA]).await?.trim() == "yes" {
        tool(["convert", DATABASE, SCHEMA]).await?;
    }
    Ok(daemon(SERVER, &[DATABASE, &format!("--remote=punix:{SOCKET}")]))
}

fn foreign(what: &str) -> Blocked {
    let advice = "exclude the node by spec.nodeSelector, or stop and disable that engine on the node";
    Blocked::new(ENGINE_FOREIGN, format!("{what}, and is left alone: {advice}"))
}

/// The control socket of a switch that lives. Those of killed ones stay, and refuse connections.
async fn switch_of_others() -> Option<String> {
    for entry in fs::read_dir(FOLDER).ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_control_socket = name.starts_with("ovs-vswitchd") && name.ends_with(".ctl");
        if is_control_socket && UnixStream::connect(entry.path()).await.is_ok() {
            return Some(entry.path().display().to_string());
        }
    }
    None
}

fn daemon(program: &str, arguments: &[&str]) -> Command {
    let mut command = command(program);
    command.args(arguments).args(["--pidfile", "-vconsole:info", "-vsyslog:off", "-vfile:off"]);
    command
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("OVS_RUNDIR", FOLDER);
    command
}

/// Runs ovsdb-tool, which fails only if it cannot read or write.
async fn tool<const N: usize>(arguments: [&str; N]) -> Result<String, Blocked> {
    run("ovsdb-tool", arguments).await.map_err(|blocked| match blocked.reason {
        ENGINE_FAILS => Blocked { reason: FILES_NOT_WRITABLE, ..blocked },
        _ => blocked,
    })
}

async fn run(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String, Blocked> {
    let output = command(program).args(arguments).stdin(Stdio::null()).kill_on_drop(true).output().await;
    let Output { status, stdout, stderr } = output.map_err(|error| Blocked::no_program(program, &error))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    Err(Blocked::failed(program, &format!("failed: {}", said.lines().last().unwrap_or("it said nothing"))))
}

/// The number in `ovs-vswitchd (Open vSwitch) 3.1.0`.
fn version_in(text: &str) -> &str {
    text.lines().next().and_then(|line| line.split(' ').next_back()).unwrap_or_default()
}

fn host() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use usnet_crds::userspace_engine::validate::validate;

    fn settings_of(changes: &Value) -> BTreeMap<&'static str, String> {
        let mut spec = json!({"engine": "OVS", "image": "x"});
        spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let valid = validate("blue", &serde_json::from_value(spec).unwrap()).unwrap();
        let cpus = Cpus { main: 0, polling: BTreeSet::from([1, 5]) };
        let placement = Placement::of(&valid, &cpus, &Numa::read(Path::new("/nowhere"))).unwrap();
        settings("blue", &valid, &cpus, &placement).into_iter().collect()
    }

    #[test]
    fn the_settings_are_those_that_the_switch_was_seen_to_accept() {
        let ordinary = settings_of(&json!({}));
        assert_eq!(ordinary["dpdk-extra"], "--no-pci --no-huge --legacy-mem --file-prefix=usnet-blue -m 1024");
        assert_eq!((ordinary["dpdk-lcore-mask"].as_str(), ordinary["pmd-cpu-mask"].as_str()), ("0x1", "0x22"));
        assert_eq!((ordinary["per-port-memory"].as_str(), ordinary["pmd-maxsleep"].as_str()), ("true", "200"));
        let memory = json!({"packets": "2Gi", "hugepages": "2Mi"});
        let devices = settings_of(&json!({"nics": "PCI", "memory": memory, "idleSleepMicroseconds": 0}));
        assert_eq!((devices["dpdk-extra"].as_str(), devices["dpdk-socket-mem"].as_str()), ("-a 0000:00:00.0", "2048"));
        assert_eq!(ordinary.get("dpdk-socket-mem"), None);
        assert_eq!((devices["per-port-memory"].as_str(), devices["pmd-sleep-max"].as_str()), ("false", "0"));
        assert!(devices.keys().all(|key| KEYS.contains(key)), "{devices:?}");
        assert_eq!(version_in("ovs-vswitchd (Open vSwitch) 3.1.0\nDPDK 22.11.11\n"), "3.1.0");
    }

    #[test]
    fn settings_of_an_earlier_spec_are_removed_if_there_are_any() {
        let of = |settings: &[(&'static str, String)]| replacement(settings).join(" ");
        let one = of(&[("dpdk-init", "true".to_owned())]);
        assert!(one.contains("-- remove Open_vSwitch . other_config dpdk-extra "), "{one}");
        assert!(one.ends_with(" -- set Open_vSwitch . other_config:dpdk-init=\"true\""), "{one}");
        let all = of(&KEYS.map(|key| (key, "1".to_owned())));
        assert!(all.starts_with("--no-wait init -- set Open_vSwitch . other_config:"), "{all}");
    }
}
