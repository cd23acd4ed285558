//! A long-running program of a test bed, which can be started, waited for, killed and restarted.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::host::wait::{self, FACTOR_VARIABLE};

/// The number of lines of a log in an error.
const EXCERPT_LINES: usize = 12;

/// The name of a program and of its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentName {
    pub program: String,
    /// `None` for a program of the control plane.
    pub node: Option<String>,
}

impl ComponentName {
    #[must_use]
    pub fn control_plane(program: &str) -> Self {
        Self { program: program.to_owned(), node: None }
    }

    #[must_use]
    pub fn on(node: &str, program: &str) -> Self {
        Self { program: program.to_owned(), node: Some(node.to_owned()) }
    }

    #[must_use]
    pub fn log_file(&self) -> String {
        self.node
            .as_ref()
            .map_or_else(|| format!("{}.log", self.program), |node| format!("{node}-{}.log", self.program))
    }
}

impl fmt::Display for ComponentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(formatter, "{} on {node}", self.program),
            None => formatter.write_str(&self.program),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    #[error("cannot start {name}")]
    Start {
        name: ComponentName,
        #[source]
        source: io::Error,
    },
    #[error("{name} ended ({status}) before it was ready; its log ends with:\n{log_end}")]
    Ended { name: ComponentName, status: ExitStatus, log_end: String },
    #[error(
        "{name} is not ready and has logged nothing for {} s ({FACTOR_VARIABLE}=2 doubles this limit); its log ends with:\n{log_end}",
        wait::limit().as_secs()
    )]
    NotReady { name: ComponentName, log_end: String },
    #[error("{0} is running already")]
    Running(ComponentName),
    #[error("cannot stop {name}")]
    Stop {
        name: ComponentName,
        #[source]
        source: io::Error,
    },
}

type Launch = Box<dyn Fn() -> Command + Send + Sync>;
type Probe = Box<dyn Fn() -> bool + Send + Sync>;

pub struct Component {
    name: ComponentName,
    launch: Launch,
    is_ready: Probe,
    log: PathBuf,
    process: Mutex<Option<Child>>,
}

impl fmt::Debug for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Component").field("name", &self.name).field("log", &self.log).finish_non_exhaustive()
    }
}

impl Component {
    /// Creates a program that `launch` starts, that is ready when `is_ready` holds, and that logs
    /// into the folder `logs`.
    #[must_use]
    pub fn new(
        name: ComponentName,
        logs: &Path,
        launch: impl Fn() -> Command + Send + Sync + 'static,
        is_ready: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let log = logs.join(name.log_file());
        Self { name, launch: Box::new(launch), is_ready: Box::new(is_ready), log, process: Mutex::new(None) }
    }

    #[must_use]
    pub fn name(&self) -> &ComponentName {
        &self.name
    }

    /// Starts the program and waits until it is ready.
    pub fn start(&self) -> Result<(), ComponentError> {
        let mut process = self.process();
        if let Some(child) = process.as_mut()
            && matches!(child.try_wait(), Ok(None))
        {
            return Err(ComponentError::Running(self.name.clone()));
        }
        let child = process.insert(self.spawn()?);
        // A program that still logs is still starting.
        let log_size = || fs::metadata(&self.log).map(|log| log.len()).unwrap_or_default();
        let ready = wait::try_while_progressing(log_size, || match child.try_wait() {
            Ok(Some(status)) => Err(ComponentError::Ended { name: self.name.clone(), status, log_end: self.log_end() }),
            _ => Ok((self.is_ready)()),
        })?;
        if ready { Ok(()) } else { Err(ComponentError::NotReady { name: self.name.clone(), log_end: self.log_end() }) }
    }

    /// Kills the program with SIGKILL and waits for its end. Nothing happens if it is not running.
    pub fn stop(&self) -> Result<(), ComponentError> {
        let mut process = self.process();
        if let Some(child) = process.as_mut() {
            let failed = |source| ComponentError::Stop { name: self.name.clone(), source };
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
        }
        *process = None;
        Ok(())
    }

    fn spawn(&self) -> Result<Child, ComponentError> {
        let failed = |source| ComponentError::Start { name: self.name.clone(), source };
        let log = OpenOptions::new().create(true).append(true).open(&self.log).map_err(failed)?;
        // In a process group of its own, the program does not get Ctrl-C of the user's terminal.
        (self.launch)()
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .spawn()
            .map_err(failed)
    }

    fn log_end(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(EXCERPT_LINES)..).unwrap_or_default().join("\n")
    }

    /// Locks the process. A panic in another thread leaves no inconsistent state.
    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
