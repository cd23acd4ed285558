//! A VPP that runs for one test.

use crate::configuration::Configuration;
use crate::process::Process;
use crate::{Builder, Error, Fault, Kind, Simulator};
use nix::sys::signal::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::CliInband;

const READY_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
const TAIL_LINES: usize = 40;
/// Longer than any answer takes, unless VPP hangs.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A VPP in a folder of its own. Drop it to stop all of it and to remove its folder.
#[derive(Debug)]
pub struct Vpp {
    // Order matters: what runs ends before its folder goes.
    pub(crate) running: Running,
    pub(crate) kind: Kind,
    pub(crate) program: PathBuf,
    pub(crate) plugins: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) prefix: String,
    pub(crate) socket: PathBuf,
    pub(crate) folder: TempDir,
}

#[derive(Debug)]
pub(crate) enum Running {
    Nothing,
    Process(Process),
    Simulator(Simulator),
}

impl Vpp {
    /// Starts one with memif and vhost-user, and returns when it answers.
    ///
    /// # Errors
    /// When there is no such VPP, or it does not come up.
    pub fn start(kind: Kind) -> Result<Self, Error> {
        Self::builder(kind).start()
    }

    /// Options: plugins and faults.
    pub fn builder(kind: Kind) -> Builder {
        Builder::new(kind)
    }

    /// Which VPP this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The socket of the binary API.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The folder of sockets and logs, VPP's `runtime-dir`. Put memif and vhost-user sockets here:
    /// its path is short.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process of a real VPP that was started and not killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &self.running {
            Running::Process(process) => Some(process.pid()),
            Running::Nothing | Running::Simulator(_) => None,
        }
    }

    /// The simulator, to give it faults and to read its log; nothing for a real VPP or after
    /// [`Self::kill`].
    #[must_use]
    pub fn simulator(&self) -> Option<&Simulator> {
        match &self.running {
            Running::Simulator(simulator) => Some(simulator),
            Running::Nothing | Running::Process(_) => None,
        }
    }

    /// Whether it runs: not after [`Self::kill`], and not after it crashed or died of a fault.
    #[must_use]
    pub fn is_running(&self) -> bool {
        match &self.running {
            Running::Nothing => false,
            Running::Process(process) => process.is_running(),
            Running::Simulator(simulator) => simulator.is_running(),
        }
    }

    /// Ends it with SIGKILL, as a crash would: its socket files stay. Nothing happens if it does
    /// not run.
    ///
    /// # Errors
    /// When the process cannot be waited for.
    pub fn kill(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.running, Running::Nothing) {
            Running::Process(process) => process.kill(),
            Running::Simulator(_) | Running::Nothing => Ok(()),
        }
    }

    /// Lets it hang: the kernel accepts connections for it, and nothing is answered until
    /// [`Self::resume`].
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&self) -> Result<(), Error> {
        match &self.running {
            Running::Nothing => Err(Error::NotRunning),
            Running::Process(process) => process.signal(Signal::SIGSTOP),
            Running::Simulator(simulator) => {
                simulator.fault(Fault::Hang);
                Ok(())
            }
        }
    }

    /// Ends what [`Self::pause`] began. What was asked meanwhile is answered. The simulator forgets
    /// all of its faults.
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume(&self) -> Result<(), Error> {
        match &self.running {
            Running::Nothing => Err(Error::NotRunning),
            Running::Process(process) => process.signal(Signal::SIGCONT),
            Running::Simulator(simulator) => {
                simulator.well();
                Ok(())
            }
        }
    }

    /// Starts it in the same folder, and returns when it answers. It knows nothing of its former
    /// life.
    ///
    /// # Errors
    /// When it runs, or does not come up.
    pub fn start_again(&mut self) -> Result<(), Error> {
        if self.is_running() {
            return Err(Error::RunsAlready);
        }
        self.kill()?;
        match self.kind {
            Kind::Simulator => {
                self.running = Running::Simulator(Simulator::start(self.folder.path(), &self.faults)?);
                Ok(())
            }
            Kind::Real => self.start_process(),
        }
    }

    fn start_process(&mut self) -> Result<(), Error> {
        let (program, folder) = (&self.program, self.folder.path());
        let configuration = Configuration { program, folder, prefix: &self.prefix, plugins: &self.plugins };
        let path = folder.join("startup.conf");
        fs::write(&path, configuration.text()).map_err(Error::file(path))?;
        let process = Process::start(program, folder, &self.prefix)?;
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(error) = Client::connect(&self.socket, ANSWER_WITHIN) {
            let problem = match error {
                _ if !process.is_running() => "it ended".to_owned(),
                error if Instant::now() > deadline => format!("{error}, for {READY_WITHIN:?}"),
                _ => {
                    std::thread::sleep(POLL);
                    continue;
                }
            };
            return Err(Error::NotReady { problem, output: self.output_tail() });
        }
        self.running = Running::Process(process);
        Ok(())
    }

    /// A client of its API.
    ///
    /// # Errors
    /// When it does not answer within ten seconds.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::connect(&self.socket, ANSWER_WITHIN)?)
    }

    /// Runs a command as `vppctl` would and returns what it shows. The simulator has no commands
    /// and shows nothing.
    ///
    /// # Errors
    /// When it does not answer, or does not know the command.
    pub fn cli(&self, command: &str) -> Result<String, Error> {
        let mut batch = Batch::new();
        let observed = batch.request(CliInband { cmd: command.into() });
        let answers = self.client()?.send(&batch)?;
        Ok(answers.reply(observed)?.reply.as_str().to_owned())
    }

    /// The last lines that a real VPP wrote to standard output and standard error.
    fn output_tail(&self) -> String {
        let text = fs::read(self.folder.path().join("output.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Vpp {
    /// A failed test gets the end of the output on standard error, because the folder goes.
    #[expect(clippy::print_stderr, reason = "the reader of a failed test looks at its standard error")]
    fn drop(&mut self) {
        if std::thread::panicking() && self.kind == Kind::Real {
            eprintln!("--- VPP (last lines of its output)\n{}", self.output_tail());
        }
        let _ended = self.kill();
        if self.kind == Kind::Real {
            for part in ["global_vm", "vpe-api"] {
                let _gone = fs::remove_file(format!("/dev/shm/{}-{part}", self.prefix));
            }
        }
    }
}
