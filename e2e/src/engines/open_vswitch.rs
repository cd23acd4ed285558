//! Open vSwitch with DPDK on a node, without huge pages and devices.

use std::fs;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::host::command::{self, CommandError};
use crate::host::component::{Component, ComponentName};
use crate::host::probes;
use crate::nodes::node::{Node, NodeError};
use crate::testbed::folder::TestbedFolder;

/// A link in the test bed's folder of programs to the build with DPDK.
const PROGRAM: &str = "ovs-vswitchd";

const SOCKET: &str = "/run/openvswitch/db.sock";
const DATABASE: &str = "/var/lib/openvswitch/conf.db";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// Memory for packets, in MiB. A connected port takes 62 MiB with `per-port-memory`, so this is
/// enough for eight ports.
const MEMORY_MIB: u32 = 512;

/// The maximum sleep of an idle polling thread, in microseconds: without it, each node would use a
/// whole CPU.
const MAX_SLEEP_US: u32 = 200;

/// Why Open vSwitch could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenVSwitchError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// The two programs of Open vSwitch on a node.
#[derive(Debug)]
pub struct OpenVSwitch {
    /// `ovsdb-server`, which has the configuration.
    pub server: Arc<Component>,
    /// `ovs-vswitchd`, which forwards packets.
    pub switch: Arc<Component>,
}

/// Creates an empty database and describes the programs. [`configure`] is called after the start of
/// the first and before that of the second.
pub fn prepare(folder: &TestbedFolder, node: &Node) -> Result<OpenVSwitch, OpenVSwitchError> {
    for path in ["/etc/openvswitch", "/run/openvswitch", "/var/lib/openvswitch", "/var/log/openvswitch"] {
        fs::create_dir_all(node.path(path)).map_err(|source| node.not_written(path, source))?;
    }
    remove_machine_database(node)?;
    command::run(node.command("ovsdb-tool").args(["create", DATABASE, SCHEMA]))?;
    Ok(OpenVSwitch { server: Arc::new(server(folder, node)), switch: Arc::new(switch(folder, node)) })
}

/// Removes the machine's own database, which is visible in the node's copy of `/var`.
fn remove_machine_database(node: &Node) -> Result<(), NodeError> {
    match fs::remove_file(node.path(DATABASE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(node.not_written(DATABASE, error)),
        _ => Ok(()),
    }
}

fn server(folder: &TestbedFolder, node: &Node) -> Component {
    let arguments = [DATABASE, &format!("--remote=punix:{SOCKET}"), "--pidfile", "--log-file"].map(str::to_owned);
    let launch = node.launcher("ovsdb-server", arguments.to_vec());
    let is_ready = probes::unix_socket(node.path(SOCKET));
    Component::new(ComponentName::on(node.name(), "ovsdb-server"), &folder.logs(), launch, is_ready)
}

fn switch(folder: &TestbedFolder, node: &Node) -> Component {
    let arguments = [&format!("unix:{SOCKET}"), "--pidfile", "--log-file"].map(str::to_owned);
    let launch = node.launcher(PROGRAM, arguments.to_vec());
    let is_ready = probes::command(readiness(node));
    Component::new(ComponentName::on(node.name(), "ovs-vswitchd"), &folder.logs(), launch, is_ready)
}

/// Returns a probe. After a kill the database still has the state of the last process, so
/// `ovs-vsctl` makes a change, a different one each time, and waits until the new process has
/// applied it.
fn readiness(node: &Node) -> impl Fn() -> Command + Send + Sync + use<> {
    let counter = AtomicU64::new(0);
    let build = node.launcher("ovs-vsctl", vec!["--timeout=5".to_owned()]);
    move || {
        let mut command = build();
        let count = counter.fetch_add(1, Ordering::Relaxed);
        command.args(["wait-until", "Open_vSwitch", ".", "dpdk_initialized=true", "--", "set", "Open_vSwitch", "."]);
        command.arg(format!("external_ids:world-probe={count}"));
        command
    }
}

/// Writes the settings that the switch reads at its start.
pub fn configure(node: &Node) -> Result<(), OpenVSwitchError> {
    let version = command::run(node.command(PROGRAM).arg("--version"))?;
    let version = version.lines().next().and_then(|line| line.split(' ').next_back()).unwrap_or_default();
    let (first, last) = usable_cpus();
    let settings = [
        "other_config:dpdk-init=true".to_owned(),
        format!(
            "other_config:dpdk-extra=\"--no-pci --no-huge --legacy-mem -m {MEMORY_MIB} --file-prefix={}\"",
            node.name()
        ),
        "other_config:per-port-memory=true".to_owned(),
        format!("other_config:dpdk-lcore-mask={:#x}", cpu_mask(first)),
        format!("other_config:pmd-cpu-mask={:#x}", cpu_mask(last)),
        // Until Open vSwitch 3.1, and since.
        format!("other_config:pmd-maxsleep={MAX_SLEEP_US}"),
        format!("other_config:pmd-sleep-max={MAX_SLEEP_US}"),
        format!("external_ids:system-id={}", node.name()),
        format!("external_ids:hostname={}", node.name()),
        format!("ovs_version={version}"),
    ];
    let set = ["--no-wait", "init", "--", "set", "Open_vSwitch", "."];
    command::run(node.command("ovs-vsctl").args(set).args(settings))?;
    Ok(())
}

/// The first and the last CPU that this process may use.
fn usable_cpus() -> (usize, usize) {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return (0, 0) };
    let mut usable = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false));
    let first = usable.next().unwrap_or(0);
    (first, usable.next_back().unwrap_or(first))
}

/// Returns the mask of a CPU for DPDK; of the first CPU for one that the mask cannot have.
fn cpu_mask(cpu: usize) -> u64 {
    u32::try_from(cpu).ok().and_then(|cpu| 1_u64.checked_shl(cpu)).unwrap_or(1)
}
