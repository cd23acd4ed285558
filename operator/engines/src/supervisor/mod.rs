//! Runs the processes of an engine in their order, and keeps them running (IO).
//!
//! - [`engine`]: what the engines have in common: their processes, and how each is prepared;
//!   [`open_vswitch`] and [`vpp`] know the rest;
//! - [`preconditions`]: what a node has to have; [`cpus`]: which CPUs the engine uses, and [`numa`]
//!   where its memory is;
//! - [`process`]: one process with its last words; [`processes`]: all of them, in their order;
//! - [`reporter`]: tells the agent of the node how the engine is; [`blocked`]: why it is not
//!   started;
//! - [`readiness`]: the probe of the pod; [`image_check`]: looks at an image before it is used.
//!
//! An engine that runs is restarted for nothing but its own end: neither a new agent nor a new
//! controller touches it, and settings that need a restart wait for the controller to delete the
//! pod.

mod blocked;
mod cpus;
mod engine;
pub mod image_check;
mod numa;
mod open_vswitch;
mod preconditions;
mod process;
mod processes;
pub mod readiness;
mod reporter;
mod vpp;

use crate::settings::{self, VARIABLE};
use blocked::Blocked;
use engine::Engine;
use futures::future::BoxFuture;
use processes::Processes;
use reporter::Reporter;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::userspace_engine::supervisor_report::{FOLDER, SupervisorState};
use usnet_crds::userspace_engine::validate::ValidEngine;

/// How long what blocks the engine may last after it has ended.
const RETRY: Duration = Duration::from_secs(2);
/// How often the processes and the settings are looked at.
const TICK: Duration = Duration::from_secs(1);

/// Options of `usnet supervise-engine`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The file with the settings.
    #[arg(long, default_value = "/etc/usnet-engine/engine.json")]
    pub settings: PathBuf,
    /// The folder for the report to the agent of the node.
    #[arg(long, default_value = FOLDER)]
    pub reports: PathBuf,
    /// What the pod was created with.
    #[arg(long, env = VARIABLE, hide_env_values = true)]
    pub created_with: Option<String>,
}

impl Options {
    fn read(&self) -> Result<(String, ValidEngine), settings::Error> {
        settings::read(&self.settings, self.created_with.as_deref())
    }
}

/// Why the supervisor ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error("cannot write {0}: mount the folder /run/usnet of the node there")]
    Report(PathBuf, #[source] std::io::Error),
    #[error("cannot lock {0}")]
    Lock(PathBuf, #[source] usnet_dataplane::atomic_file::Error),
}

/// Runs the engine until the shutdown is requested, and then ends it.
///
/// # Errors
/// There are no valid settings, or nothing can be reported.
pub async fn run(options: Options, mut requested: BoxFuture<'static, ()>) -> Result<(), Error> {
    let (name, valid) = options.read()?;
    let reporter = tokio::select! {
        reporter = Reporter::begin(&options.reports, valid.engine, &name) => reporter?,
        () = &mut requested => return Ok(()),
    };
    let mut supervisor =
        Supervisor { options, engine: Engine::new(&name, &valid), valid, reporter, processes: Processes::default() };
    tokio::select! {
        () = supervisor.supervise() => {}
        () = &mut requested => {}
    }
    tracing::info!(engine = %supervisor.valid.engine, "ending the engine");
    supervisor.processes.end().await;
    supervisor.reporter.end();
    Ok(())
}

struct Supervisor {
    options: Options,
    valid: ValidEngine,
    engine: Engine,
    reporter: Reporter,
    processes: Processes,
}

impl Supervisor {
    async fn supervise(&mut self) {
        loop {
            self.reporter.report(SupervisorState::Starting, None);
            match self.start().await {
                Ok(()) => {
                    let warning = preconditions::warning(&self.valid);
                    self.reporter.report(SupervisorState::Running, warning.as_ref());
                    self.wait_for_end().await;
                }
                Err(blocked) => {
                    self.reporter.report(SupervisorState::Blocked, Some(&blocked));
                    sleep(RETRY).await;
                    // They may be what blocks it.
                    self.read_settings();
                }
            }
        }
    }

    async fn start(&mut self) -> Result<(), Blocked> {
        if self.processes.is_empty() {
            preconditions::check(&self.valid)?;
        }
        self.processes.start(&self.engine).await
    }

    /// Waits until one of the processes has ended. Meanwhile settings that apply at once are
    /// applied.
    async fn wait_for_end(&mut self) {
        loop {
            tokio::select! {
                name = self.processes.one_has_ended() => {
                    tracing::warn!(engine = %self.valid.engine, process = name, "a process of the engine ended; starting it again");
                    return;
                }
                () = sleep(TICK) => {}
            }
            self.processes.end_what_hangs(&self.engine).await;
            if self.read_settings() {
                self.engine.apply_at_once().await;
            }
        }
    }

    /// Reads the settings again; returns whether they changed.
    fn read_settings(&mut self) -> bool {
        match self.options.read() {
            Ok((name, valid)) if valid != self.valid => {
                tracing::info!(engine = %valid.engine, "the settings changed");
                self.engine = Engine::new(&name, &valid);
                self.valid = valid;
                true
            }
            Ok(_) => false,
            // The last valid ones stay.
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "the settings cannot be used");
                false
            }
        }
    }
}
