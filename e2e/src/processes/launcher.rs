//! The process that the user starts. It stays outside of the test bed's namespaces, and the test
//! bed ends with it.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use crate::engines::vpp_program::VppProgram;
use crate::host::command;
use crate::host::requirements::{self, RequirementError};
use crate::processes::arguments::Arguments;
use crate::processes::init;
use crate::processes::janitor::Janitor;
use crate::testbed::failure;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;
use crate::testbed::settings::{self, Settings, SettingsError};

#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    #[error("cannot create a folder for the test bed in {0}; set TMPDIR to a writable folder")]
    Folder(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot start the test bed's janitor")]
    Janitor(#[source] io::Error),
    #[error("cannot create a pid namespace")]
    Namespace(#[source] Errno),
    #[error("cannot start the test bed's first process")]
    Init(#[source] io::Error),
}

/// Runs a whole test bed and returns the exit status of its command.
///
/// # Errors
/// When the test bed's first process cannot be started. Later failures are printed and reflected in
/// the status.
pub fn run(arguments: Arguments) -> Result<u8, LauncherError> {
    let vpp = arguments.engine.have_vpp().then(VppProgram::find);
    requirements::check(&arguments.tools, arguments.engine, vpp.as_ref())?;
    let folder = create_folder()?;
    let janitor = Janitor::start(&folder).map_err(LauncherError::Janitor)?;
    let settings = settings_of(arguments, vpp);
    let status = run_testbed(&folder, &settings);
    if !matches!(status, Ok(0)) {
        failure::keep_logs(&folder, &settings);
    }
    janitor.finish();
    status
}

fn create_folder() -> Result<TestbedFolder, LauncherError> {
    let parent = std::env::temp_dir();
    requirements::check_folder(&parent)?;
    let folder = tempfile::Builder::new()
        .prefix("usnet-")
        .tempdir_in(&parent)
        .map_err(|source| LauncherError::Folder(parent, source))?;
    // The janitor removes the folder, because this process may be killed.
    Ok(TestbedFolder::new(folder.keep()))
}

fn settings_of(arguments: Arguments, vpp: Option<VppProgram>) -> Settings {
    let cache = std::env::var_os("USNET_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        base.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")).join("usnet")
    });
    Settings {
        nodes: arguments.nodes,
        engines: arguments.engine,
        vpp,
        install: !arguments.no_install,
        tools: arguments.tools,
        checkout: arguments.checkout,
        binaries: arguments.image_binaries,
        image: arguments.image,
        cache,
        launcher_process: std::process::id(),
        started_ms: u64::try_from(settings::now().as_millis()).unwrap_or(u64::MAX),
        command: arguments.command,
    }
}

fn run_testbed(folder: &TestbedFolder, settings: &Settings) -> Result<u8, LauncherError> {
    settings.write(folder)?;
    progress::say(settings, &format!("{}: starting a cluster of {} node(s)", folder.id(), settings.nodes));
    // Only children enter the new pid namespace, so this process can still clean up on the machine.
    unshare(CloneFlags::CLONE_NEWPID).map_err(LauncherError::Namespace)?;
    let status = run_init(folder).map_err(LauncherError::Init)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

fn run_init(folder: &TestbedFolder) -> io::Result<ExitStatus> {
    command::this_program()?.arg(init::ROLE).arg(folder.root()).status()
}
