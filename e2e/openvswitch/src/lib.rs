//! A real Open vSwitch for one test: `ovsdb-server` and `ovs-vswitchd` in a folder and in
//! namespaces of their own, so that the tap devices of netdev bridges do not appear on the machine
//! and tests run side by side.
//!
//! Everything ends when the [`OpenVswitch`] is dropped, and also when the test is killed with `kill
//! -9`: the first process of the pid namespace waits for the end of a pipe that only the test
//! holds, and the kernel kills the rest.
//!
//! It needs root and the Debian package `openvswitch-switch-dpdk`.

mod builder;
mod daemon;
mod error;
mod namespace;

pub use builder::Builder;
pub use error::Error;

use daemon::Daemon;
use namespace::Namespaces;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A running Open vSwitch. Dropping it stops all of it and removes its folder.
#[derive(Debug)]
pub struct OpenVswitch {
    // The order matters: the namespaces kill the daemons, then the daemons are collected, then the
    // folder is removed.
    namespaces: Namespaces,
    ovsdb_server: Daemon,
    vswitchd: Daemon,
    folder: TempDir,
    socket: PathBuf,
}

impl OpenVswitch {
    /// Starts `ovsdb-server` and `ovs-vswitchd` without DPDK, and returns when both answer.
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the unix socket of `ovsdb-server`, which the test process can connect to.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the control socket of `ovs-vswitchd`, which is the same after a restart.
    #[must_use]
    pub fn control_socket(&self) -> &Path {
        self.vswitchd.control_socket()
    }

    /// Returns the folder of database, sockets and logs. Vhost-user sockets belong here: its path
    /// is short, and both sides see it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the network namespace of the bridges, for `setns` or `nsenter --net=`.
    #[must_use]
    pub fn network_namespace(&self) -> PathBuf {
        self.namespaces.network()
    }

    /// Returns a command that runs inside the namespaces (network, mounts, pids) of this Open
    /// vSwitch and ends with it.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        self.namespaces.command(program)
    }

    /// Runs `ovs-vsctl` on this database and returns its output. It waits for `ovs-vswitchd` unless
    /// `--no-wait` is among the arguments.
    pub fn vsctl(&self, arguments: &[impl AsRef<OsStr>]) -> Result<String, Error> {
        let mut command = Command::new("ovs-vsctl");
        command.arg(format!("--db=unix:{}", self.socket.display())).arg("--timeout=30").args(arguments);
        run(command)
    }

    /// Runs `ovs-appctl` on this `ovs-vswitchd` and returns its output.
    pub fn appctl(&self, arguments: &[impl AsRef<OsStr>]) -> Result<String, Error> {
        let mut command = Command::new("ovs-appctl");
        command.arg(format!("--target={}", self.vswitchd.control_socket().display())).args(arguments);
        run(command)
    }

    /// Adds a flow to a bridge, as another client of the switch does.
    pub fn add_flow(&self, bridge: &str, flow: &str) -> Result<(), Error> {
        let mut command = Command::new("ovs-ofctl");
        let management_socket = self.folder().join(format!("{bridge}.mgmt"));
        command.arg("add-flow").arg(format!("unix:{}", management_socket.display())).arg(flow);
        run(command).map(drop)
    }

    /// Kills `ovs-vswitchd` with SIGKILL, as a crash would: its tap devices stay. Does nothing if
    /// it does not run.
    pub fn kill_vswitchd(&mut self) -> Result<(), Error> {
        self.vswitchd.end(&self.namespaces, "KILL")
    }

    /// Ends `ovs-vswitchd` with SIGTERM, as a service manager does: it removes its pid file and its
    /// control socket. Does nothing if it does not run.
    pub fn stop_vswitchd(&mut self) -> Result<(), Error> {
        self.vswitchd.end(&self.namespaces, "TERM")
    }

    /// Stops `ovs-vswitchd`, so that it hangs until [`Self::resume_vswitchd`].
    pub fn pause_vswitchd(&self) -> Result<(), Error> {
        self.vswitchd.pause(&self.namespaces)
    }

    pub fn resume_vswitchd(&self) -> Result<(), Error> {
        self.vswitchd.resume()
    }

    /// Starts `ovs-vswitchd` and waits until it has read the database (`cur_cfg` caught up).
    pub fn start_vswitchd(&mut self) -> Result<(), Error> {
        let control_socket = self.vswitchd.control_socket().to_owned();
        self.vswitchd.start(&self.namespaces, &control_socket)?;
        self.wait_for_vswitchd().map_err(|error| self.vswitchd.not_ready(error))
    }

    /// Increments `next_cfg` and waits until `cur_cfg` has caught up. The numbers of an earlier run
    /// stay in the database and are equal, so that equality alone proves nothing.
    fn wait_for_vswitchd(&self) -> Result<(), Error> {
        let observed = self.vsctl(&["get", "Open_vSwitch", ".", "next_cfg"])?;
        let next = observed.trim().parse::<i64>().map_err(|_| Error::Unexpected { what: "next_cfg", observed })? + 1;
        self.vsctl(&["--no-wait", "set", "Open_vSwitch", ".", &format!("next_cfg={next}")])?;
        self.vsctl(&["wait-until", "Open_vSwitch", ".", &format!("cur_cfg>={next}")]).map(drop)
    }

    /// Kills `ovsdb-server` with SIGKILL, as a crash would. Does nothing if it does not run.
    pub fn kill_ovsdb_server(&mut self) -> Result<(), Error> {
        self.ovsdb_server.end(&self.namespaces, "KILL")
    }

    /// Starts `ovsdb-server` on the same database file and waits until its socket accepts
    /// connections.
    pub fn start_ovsdb_server(&mut self) -> Result<(), Error> {
        self.ovsdb_server.start(&self.namespaces, &self.socket)
    }
}

impl Drop for OpenVswitch {
    /// Prints the end of the logs if the test failed, because their folder is removed.
    #[expect(clippy::print_stderr, reason = "the reader of a failed test looks at its standard error")]
    fn drop(&mut self) {
        // A failed test may have paused the daemon, and a stopped `nsenter` would not collect it.
        let _gone = self.vswitchd.resume();
        if !std::thread::panicking() {
            return;
        }
        for daemon in [&self.ovsdb_server, &self.vswitchd] {
            eprintln!("--- {} (last lines of its log)\n{}", daemon.program(), daemon.log_tail());
        }
    }
}

fn run(mut command: Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| Error::program(&command, source))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let problem = format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
        Err(Error::CommandFailed { command: format!("{command:?}"), problem })
    }
}

/// Returns the last lines of a text file, and nothing if it cannot be read.
fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}
