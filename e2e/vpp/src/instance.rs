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
/// VPP answers faster unless it hangs.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A VPP in a folder of its own. Dropping it stops all of it and removes its folder.
#[derive(Debug)]
pub struct Vpp {
    // The order matters: VPP ends before its folder is removed.
    pub(crate) running: Running,
    pub(crate) kind: Kind,
    pub(crate) program: PathBuf,
    pub(crate) plugins: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) polls: bool,
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
    /// Starts a VPP with memif and vhost-user, and returns when it answers.
    pub fn start(kind: Kind) -> Result<Self, Error> {
        Self::builder(kind).start()
    }

    pub fn builder(kind: Kind) -> Builder {
        Builder::new(kind)
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the socket of the binary API.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the folder of sockets and logs, which is VPP's `runtime-dir`. Memif and vhost-user
    /// sockets belong here: its path is short.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns nothing for a simulator, and after [`Self::kill`].
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &self.running {
            Running::Process(process) => Some(process.pid()),
            Running::Nothing | Running::Simulator(_) => None,
        }
    }

    /// Returns the simulator, to inject faults and to read its log; nothing for a real VPP, and
    /// after [`Self::kill`].
    #[must_use]
    pub fn simulator(&self) -> Option<&Simulator> {
        match &self.running {
            Running::Simulator(simulator) => Some(simulator),
            Running::Nothing | Running::Process(_) => None,
        }
    }

    /// Whether VPP runs: it does not after [`Self::kill`], a crash, or a fault that ended it.
    #[must_use]
    pub fn is_running(&self) -> bool {
        match &self.running {
            Running::Nothing => false,
            Running::Process(process) => process.is_running(),
            Running::Simulator(simulator) => simulator.is_running(),
        }
    }

    /// Ends VPP with SIGKILL, as a crash would: its socket files stay. Does nothing if it does not
    /// run.
    pub fn kill(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.running, Running::Nothing) {
            Running::Process(process) => process.kill(),
            Running::Simulator(_) | Running::Nothing => Ok(()),
        }
    }

    /// Makes VPP hang: the kernel accepts connections for it, and nothing is answered until
    /// [`Self::resume`].
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

    /// Ends the effect of [`Self::pause`]; requests of the meantime are answered. The simulator
    /// forgets all of its faults.
    pub fn resume(&self) -> Result<(), Error> {
        match &self.running {
            Running::Nothing => Err(Error::NotRunning),
            Running::Process(process) => process.signal(Signal::SIGCONT),
            Running::Simulator(simulator) => {
                simulator.clear_faults();
                Ok(())
            }
        }
    }

    /// Starts VPP in the same folder, and returns when it answers. It knows nothing of its last
    /// run.
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
        let configuration =
            Configuration { program, folder, prefix: &self.prefix, plugins: &self.plugins, polls: self.polls };
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

    /// Connects a client to the API. Each of its requests may take ten seconds.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::connect(&self.socket, ANSWER_WITHIN)?)
    }

    /// Runs a command as `vppctl` would and returns its output. The simulator has no commands and
    /// returns nothing.
    pub fn cli(&self, command: &str) -> Result<String, Error> {
        let mut batch = Batch::new();
        let observed = batch.request(CliInband { cmd: command.into() });
        let answers = self.client()?.send(&batch)?;
        Ok(answers.reply(observed)?.reply.as_str().to_owned())
    }

    /// Returns the last lines of standard output and standard error of a real VPP.
    fn output_tail(&self) -> String {
        let text = fs::read(self.folder.path().join("output.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Vpp {
    /// Prints the end of the output if the test failed, because its folder is removed.
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
