//! The options of an Open vSwitch for a test.

use crate::daemon::Daemon;
use crate::namespace::Namespaces;
use crate::{Error, OpenVswitch, run};
use std::path::Path;
use std::process::Command;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const OVSDB_SERVER: &str = "/usr/sbin/ovsdb-server";
const VSWITCHD: &str = "/usr/sbin/ovs-vswitchd";
const VSWITCHD_DPDK: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
/// `sun_path` holds 108 bytes with the terminating zero.
const SOCKET_PATH_MAX: usize = 107;

#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    dpdk: bool,
    dpdk_memory: u32,
    vswitchd: bool,
    lacking: &'static str,
}

impl Default for Builder {
    fn default() -> Self {
        Self { dpdk: false, dpdk_memory: 256, vswitchd: true, lacking: "" }
    }
}

impl Builder {
    /// Runs `ovs-vswitchd` with DPDK, without hugepages and PCI devices. Vhost-user ports need it:
    /// without DPDK they get ofport -1.
    pub fn dpdk(mut self, dpdk: bool) -> Self {
        self.dpdk = dpdk;
        self
    }

    /// Sets DPDK's memory in MiB; the default is 256. Every connected vhost-user port takes 62 MiB.
    pub fn dpdk_memory(mut self, mebibytes: u32) -> Self {
        self.dpdk_memory = mebibytes;
        self
    }

    /// Starts only `ovsdb-server`, for tests of the database protocol.
    /// [`OpenVswitch::start_vswitchd`] starts `ovs-vswitchd` later.
    pub fn without_vswitchd(mut self) -> Self {
        self.vswitchd = false;
        self
    }

    /// Runs `ovs-vswitchd` without these capabilities, as setpriv(1) names them: `bpf,sys_admin`.
    pub fn without_capabilities(mut self, capabilities: &'static str) -> Self {
        self.lacking = capabilities;
        self
    }

    /// Starts Open vSwitch, and returns when its daemons answer.
    pub fn start(self) -> Result<OpenVswitch, Error> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("ovs-")
            .tempdir_in(&temporary)
            .map_err(|source| Error::File { path: temporary, source })?;
        let path = folder.path();
        let socket = path.join("db.sock");
        let vswitchd = Daemon::new(self.vswitchd_program(), path, vec![format!("unix:{}", socket.display())])
            .without_capabilities(self.lacking);
        if vswitchd.control_socket().as_os_str().len() > SOCKET_PATH_MAX {
            return Err(Error::PathTooLong(vswitchd.control_socket().to_owned()));
        }
        let database = path.join("conf.db");
        create_database(&database)?;
        let remote = format!("--remote=punix:{}", socket.display());
        let ovsdb_server = Daemon::new(OVSDB_SERVER, path, vec![database.display().to_string(), remote]);
        let namespaces = Namespaces::start(path)?;
        let mut openvswitch = OpenVswitch { namespaces, ovsdb_server, vswitchd, folder, socket };
        openvswitch.start_ovsdb_server()?;
        openvswitch.vsctl(&["--no-wait", "init"])?;
        if self.dpdk {
            openvswitch.vsctl(&self.dpdk_settings())?;
        }
        if self.vswitchd {
            openvswitch.start_vswitchd()?;
        }
        Ok(openvswitch)
    }

    fn vswitchd_program(&self) -> &'static str {
        if self.dpdk { VSWITCHD_DPDK } else { VSWITCHD }
    }

    fn dpdk_settings(&self) -> Vec<String> {
        // Open vSwitch adds --in-memory, which --no-huge does not accept unless --legacy-mem is
        // given.
        let extra = format!("--no-pci --no-huge --legacy-mem -m {}", self.dpdk_memory);
        // The packet thread runs on the last CPU, so that it does not share one with DPDK's main
        // thread on CPU 0. It would poll without end; with pmd-sleep-max (microseconds), which is
        // pmd-maxsleep until Open vSwitch 3.1, an idle one leaves the CPU to the other tests.
        let last_cpu = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1).min(63);
        let mask = 1_u64 << last_cpu;
        ["--no-wait", "set", "Open_vSwitch", "."]
            .into_iter()
            .map(str::to_owned)
            .chain([
                "other_config:dpdk-init=true".to_owned(),
                format!("other_config:dpdk-extra=\"{extra}\""),
                "other_config:per-port-memory=true".to_owned(),
                format!("other_config:pmd-cpu-mask=0x{mask:x}"),
                "other_config:pmd-maxsleep=500".to_owned(),
                "other_config:pmd-sleep-max=500".to_owned(),
            ])
            .collect()
    }
}

fn create_database(path: &Path) -> Result<(), Error> {
    let mut command = Command::new("ovsdb-tool");
    command.arg("create").arg(path).arg(SCHEMA);
    run(command).map(drop)
}
