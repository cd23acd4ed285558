//! A long-running program of a test bed: started, waited for until it serves, killed, started
//! again.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::host::wait::{self, FACTOR_VARIABLE};

/// Lines of a log that an error shows.
const EXCERPT_LINES: usize = 12;

/// Which program, and on which node; none for the control plane's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentName {
    /// The program's name, such as `kubelet`.
    pub program: String,
    /// The node that it runs on.
    pub node: Option<String>,
}

impl ComponentName {
    /// A program of the control plane.
    #[must_use]
    pub fn control_plane(program: &str) -> Self {
        Self { program: program.to_owned(), node: None }
    }

    /// A program of a node.
    #[must_use]
    pub fn on(node: &str, program: &str) -> Self {
        Self { program: program.to_owned(), node: Some(node.to_owned()) }
    }

    /// The name of its log file.
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

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// It could not be started.
    #[error("cannot start {name}")]
    Start {
        /// Which program.
        name: ComponentName,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It ended instead of serving.
    #[error("{name} ended ({status}) before it was ready; its log ends with:\n{log_end}")]
    Ended {
        /// Which program.
        name: ComponentName,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log_end: String,
    },
    /// It runs, but does not serve, and it has logged nothing for the time limit.
    #[error(
        "{name} is not ready and has stopped logging for {} s ({FACTOR_VARIABLE}=2 doubles that); its log ends with:\n{log_end}",
        wait::limit().as_secs()
    )]
    NotReady {
        /// Which program.
        name: ComponentName,
        /// The last lines of its log.
        log_end: String,
    },
    /// It runs already.
    #[error("{0} is running already")]
    Running(ComponentName),
    /// It could not be killed.
    #[error("cannot stop {name}")]
    Stop {
        /// Which program.
        name: ComponentName,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

type Launch = Box<dyn Fn() -> Command + Send + Sync>;
type Probe = Box<dyn Fn() -> bool + Send + Sync>;

/// One long-running program.
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
    /// A program that `launch` starts, that serves when `is_ready` says so, and that logs into the
    /// folder `logs`.
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ComponentName {
        &self.name
    }

    /// Starts it and waits until it serves.
    ///
    /// # Errors
    /// When it runs already, cannot be started, ends, or does not serve in time.
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

    /// Kills it with SIGKILL and waits until it is dead. Nothing happens when it does not run.
    ///
    /// # Errors
    /// When it cannot be killed.
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
        // A process group of its own: Ctrl-C at the terminal is for the user's command alone.
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

    /// A panic in another thread leaves no half-made state here.
    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
