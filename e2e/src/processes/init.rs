//! The first process of a test bed's pid namespace. When it exits, the kernel kills every other
//! process of the test bed.

use std::io;
use std::path::Path;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;

use crate::host::command::{self, CommandError};
use crate::host::namespaces::{self, NamespaceError};
use crate::processes::orchestrator;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::{Settings, SettingsError};

/// The hidden subcommand of [`run`].
pub const ROLE: &str = "internal-init";
/// The programs of a cluster, which are in Go, collect garbage when their heap is this many percent
/// larger than after the last time, instead of 100: at 100 it is a sixth of an API server's
/// processor time, and a test bed has 0.5 GB more for it.
const GARBAGE_COLLECTION: &str = "300";

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot set the signal for the end of the parent process")]
    ParentDeath(#[source] Errno),
    #[error("the process that started this test bed is gone")]
    Orphaned,
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("cannot start the test bed's orchestrator")]
    Orchestrator(#[source] io::Error),
}

/// Sets up the namespaces, starts the orchestrator, and reaps processes until the orchestrator
/// exits. Returns its exit status.
pub fn run(folder: &TestbedFolder) -> Result<u8, InitError> {
    let settings = Settings::read(folder)?;
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(InitError::ParentDeath)?;
    // The parent may have exited before the call above. /proc is still that of the machine here.
    if !Path::new("/proc").join(settings.launcher_process.to_string()).exists() {
        return Err(InitError::Orphaned);
    }
    raise_file_limit();
    namespaces::enter_testbed()?;
    command::run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
    let orchestrator = start_orchestrator(folder, &settings).map_err(InitError::Orchestrator)?;
    Ok(reap_until_exit_of(Pid::from_raw(orchestrator.id().cast_signed())))
}

fn start_orchestrator(folder: &TestbedFolder, settings: &Settings) -> io::Result<Child> {
    let mut command = command::this_program()?;
    command.arg(orchestrator::ROLE).arg(folder.root()).env("PATH", settings.program_path(folder));
    command.env("GOGC", std::env::var("GOGC").unwrap_or_else(|_| GARBAGE_COLLECTION.to_owned())).spawn()
}

/// Reaps all processes, as the first process of a pid namespace must.
fn reap_until_exit_of(orchestrator: Pid) -> u8 {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == orchestrator => return u8::try_from(code).unwrap_or(u8::MAX),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == orchestrator => {
                return u8::try_from(128 + signal as i32).unwrap_or(u8::MAX);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return u8::MAX,
        }
    }
}

/// Raises the soft limit of file descriptors, which is 1024 in a login shell: Open vSwitch uses
/// three for each bridge.
fn raise_file_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // A test bed with the lower limit works, with fewer bridges.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
