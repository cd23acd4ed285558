//! Checks the requirements on the machine before anything is started.

use std::env;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::engines::selection::Engines;
use crate::engines::vpp_program::VppProgram;

/// The required programs, each with its Debian package.
const MACHINE_PROGRAMS: [(&str, &str); 7] = [
    ("busybox", "busybox-static"),
    ("dpdk-testpmd", "dpdk-dev"),
    ("ip", "iproute2"),
    ("ldd", "libc-bin"),
    ("nsenter", "util-linux"),
    ("runc", "runc"),
    ("sha256sum", "coreutils"),
];

/// The programs of Open vSwitch, which are in [`OPEN_VSWITCH_PACKAGE`].
const OPEN_VSWITCH_PROGRAMS: [&str; 2] = ["ovs-vsctl", "ovsdb-server"];
const OPEN_VSWITCH_PACKAGE: &str = "openvswitch-switch-dpdk";

/// The path of Open vSwitch with DPDK on Debian: the `ovs-vswitchd` on the PATH may be the one
/// without.
pub const VSWITCHD: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";

/// The programs that `e2e/tools/build` builds.
const BUILT_PROGRAMS: [&str; 14] = [
    "bridge",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "etcd",
    "host-local",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "loopback",
    "multus",
    "ptp",
];

#[derive(Debug, thiserror::Error)]
pub enum RequirementError {
    #[error("a test bed needs root to create namespaces, mounts and cgroups; run it as root or with sudo")]
    NotRoot,
    #[error("{program} is missing; on Debian: apt-get install {package}")]
    MissingProgram { program: String, package: &'static str },
    #[error("the program {0} that {PROGRAM_VARIABLE} names does not exist; unset the variable for the simulator", PROGRAM_VARIABLE = usnet_test_vpp::PROGRAM_VARIABLE)]
    MissingVpp(PathBuf),
    #[error(
        "{0} is in none of the folders of USNET_TOOLS; start the test bed with e2e/world, which builds the programs"
    )]
    MissingTool(&'static str),
    #[error(
        "the test bed's folder {folder} is under {top}, of which each node gets its own copy; set TMPDIR to another folder"
    )]
    HiddenFolder { folder: PathBuf, top: PathBuf },
}

/// Checks that the test bed can start here.
pub fn check(tools: &[PathBuf], engines: Engines, vpp: Option<&VppProgram>) -> Result<(), RequirementError> {
    if !Uid::effective().is_root() {
        return Err(RequirementError::NotRoot);
    }
    let open_vswitch = OPEN_VSWITCH_PROGRAMS.iter().chain([&VSWITCHD]).map(|program| (*program, OPEN_VSWITCH_PACKAGE));
    let open_vswitch = open_vswitch.filter(|_| engines.have_open_vswitch());
    for (program, package) in MACHINE_PROGRAMS.into_iter().chain(open_vswitch) {
        if find_program(program).is_none() {
            return Err(RequirementError::MissingProgram { program: program.to_owned(), package });
        }
    }
    if let Some(VppProgram::Real(program)) = vpp
        && !program.is_file()
    {
        return Err(RequirementError::MissingVpp(program.clone()));
    }
    for program in BUILT_PROGRAMS {
        if find_in(tools, program).is_none() {
            return Err(RequirementError::MissingTool(program));
        }
    }
    Ok(())
}

/// Checks that no node's copy of a system folder would hide the test bed's folder.
pub fn check_folder(folder: &Path) -> Result<(), RequirementError> {
    for top in crate::host::namespaces::NODE_COPIES {
        if folder.starts_with(top) {
            return Err(RequirementError::HiddenFolder { folder: folder.to_owned(), top: PathBuf::from(top) });
        }
    }
    Ok(())
}

/// Finds a program on the caller's PATH or in the system's folders, which root's PATH may lack.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(system).collect();
    find_in(&folders, name)
}

/// Returns the path of the file `name` in the first of `folders` that has it.
#[must_use]
pub fn find_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}
