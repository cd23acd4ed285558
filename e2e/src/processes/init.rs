//! The first process of a test bed's pid namespace. When it ends, the kernel ends every other
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

/// The hidden subcommand that [`run`] is for.
pub const ROLE: &str = "internal-init";

/// Why a test bed's first process cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Its settings cannot be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// It cannot be tied to the life of the process that started it.
    #[error("cannot ask to be killed with the parent process")]
    ParentDeath(#[source] Errno),
    /// The process that the caller started is gone already.
    #[error("the process that started this test bed is gone")]
    Orphaned,
    /// The namespaces could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The loopback interface could not be brought up.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The orchestrator could not be started.
    #[error("cannot start the test bed's orchestrator")]
    Orchestrator(#[source] io::Error),
}

/// Sets up the namespaces, starts the orchestrator and collects every process that ends, until the
/// orchestrator does. Gives its status.
///
/// # Errors
/// When the namespaces cannot be made or the orchestrator cannot be started.
pub fn run(folder: &TestbedFolder) -> Result<u8, InitError> {
    let settings = Settings::read(folder)?;
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(InitError::ParentDeath)?;
    // The parent may have ended before the line above. /proc is still the machine's here.
    if !Path::new("/proc").join(settings.outer_process.to_string()).exists() {
        return Err(InitError::Orphaned);
    }
    raise_file_limit();
    namespaces::enter_testbed()?;
    command::run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
    let orchestrator = start_orchestrator(folder, &settings).map_err(InitError::Orchestrator)?;
    Ok(collect_until_end_of(Pid::from_raw(orchestrator.id().cast_signed())))
}

fn start_orchestrator(folder: &TestbedFolder, settings: &Settings) -> io::Result<Child> {
    let mut command = command::this_program()?;
    command.arg(orchestrator::ROLE).arg(folder.root()).env("PATH", settings.program_path(folder)).spawn()
}

/// Waits for every process that is handed to us, as the first process of a pid namespace must.
fn collect_until_end_of(orchestrator: Pid) -> u8 {
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

/// Open vSwitch takes three descriptors for each bridge; the soft limit of a login shell is 1024.
fn raise_file_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With the lower limit a test bed works too, with fewer bridges.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
