//! A running machine. It ends when its [`Machine`] is dropped, and with this process, however that
//! ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::channel::{self, ChannelError, Output};
use super::command_line::{self, NicSpec, Specification, files};
use super::initramfs;
use super::packages::Packages;
use super::qmp::{Qmp, QmpError};
use crate::host::wait;

/// Nine seconds are enough on an idle machine; others may use all its processors.
const START_WITHIN: Duration = Duration::from_secs(120);
/// The time limit of a command.
const COMMAND_WITHIN: Duration = Duration::from_secs(60);
/// Lines of each log in an error.
const EXCERPT_LINES: usize = 25;
/// The line of `guest/start` on the console.
const READY: &str = "machine: ready";

/// Scripts that a machine finds in `/machine`.
const SCRIPTS: [(&str, &str); 2] = [("start", include_str!("guest/start")), ("node", include_str!("guest/node"))];

#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("cannot use {0}")]
    File(PathBuf, #[source] io::Error),
    #[error("cannot start QEMU for {0}")]
    Start(String, #[source] io::Error),
    #[error("machine {name} is not ready: {problem}; its logs:\n{logs}")]
    NotReady { name: String, problem: String, logs: String },
    #[error("machine {name} hangs at its start; its logs:\n{logs}")]
    Hangs { name: String, logs: String },
    #[error("a command in machine {0}")]
    Channel(String, #[source] ChannelError),
    #[error("in machine {name}, `{script}` failed ({status}): {output}")]
    Failed { name: String, script: String, status: i32, output: String },
    #[error("machine {0}")]
    Qmp(String, #[source] QmpError),
}

#[derive(Debug)]
pub struct Machine {
    name: String,
    folder: PathBuf,
    nics: Vec<NicSpec>,
    process: Process,
    /// How long it took until the first command.
    started_within: Duration,
}

impl Machine {
    /// Starts a machine with files in a folder, and waits until it runs commands. If it hangs, it
    /// is started once more: Linux may lose the timers of an emulated processor while it boots.
    #[expect(clippy::print_stderr, reason = "who reads the result sees that it was the second start")]
    pub fn boot(packages: &Packages, spec: &Specification, folder: &Path) -> Result<Self, MachineError> {
        match Self::start(packages, spec, folder)?.wait() {
            Err(hangs @ MachineError::Hangs { .. }) => {
                eprintln!("{hangs}\nit is started once more");
                Self::start(packages, spec, folder)?.wait()
            }
            booted => booted,
        }
    }

    /// Starts a machine with files in a folder, without waiting until it is ready.
    pub fn start(packages: &Packages, spec: &Specification, folder: &Path) -> Result<Starting, MachineError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| MachineError::File(path, error)
        };
        let share = folder.join(files::SHARE);
        fs::create_dir_all(&share).map_err(failed(&share))?;
        for (name, script) in SCRIPTS {
            let path = share.join(name);
            fs::write(&path, script).map_err(failed(&path))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed(&path))?;
        }
        channel::create(folder).map_err(failed(folder))?;
        initramfs::write(packages, &folder.join(files::INITRAMFS)).map_err(failed(folder))?;
        let log = folder.join(files::QEMU_LOG);
        let log = File::create(&log).map_err(failed(&log))?;
        let mut command = command_line::command(packages, spec, folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = Process::start(command).map_err(|error| MachineError::Start(spec.name.clone(), error))?;
        Ok(Starting {
            machine: Self {
                name: spec.name.clone(),
                folder: folder.to_owned(),
                nics: spec.nics.clone(),
                process,
                started_within: Duration::ZERO,
            },
            begun: Instant::now(),
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn started_within(&self) -> Duration {
        self.started_within
    }

    /// The folder on this machine that it has as `/machine`.
    #[must_use]
    pub fn share(&self) -> PathBuf {
        self.folder.join(files::SHARE)
    }

    pub(super) fn nic(&self, nic: usize) -> Option<&NicSpec> {
        self.nics.get(nic)
    }

    /// Runs a shell script, and returns its standard output if it succeeds.
    pub fn run(&self, script: &str) -> Result<String, MachineError> {
        let Output { status, stdout, stderr } = self.output(script, COMMAND_WITHIN)?;
        if status == 0 {
            return Ok(stdout);
        }
        let output = format!("{stdout}{stderr}").trim().to_owned();
        Err(MachineError::Failed { name: self.name.clone(), script: script.to_owned(), status, output })
    }

    /// Runs a shell script, and returns what it left.
    pub fn output(&self, script: &str, limit: Duration) -> Result<Output, MachineError> {
        channel::run(&self.folder, script, wait::scaled(limit))
            .map_err(|error| MachineError::Channel(self.name.clone(), error))
    }

    /// Asks QEMU.
    pub fn qmp<T>(&self, ask: impl FnOnce(&mut Qmp) -> Result<T, QmpError>) -> Result<T, MachineError> {
        let qmp = Qmp::connect(&self.folder.join(files::QMP));
        qmp.and_then(|mut qmp| ask(&mut qmp)).map_err(|error| MachineError::Qmp(self.name.clone(), error))
    }

    /// The ends of all logs: of QEMU, of the console, and those that programs in the machine write
    /// into its share.
    #[must_use]
    pub fn logs(&self) -> String {
        let mut paths = vec![self.folder.join(files::QEMU_LOG), self.folder.join(files::CONSOLE)];
        let share = fs::read_dir(self.share()).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut logs: Vec<_> = share.filter(|path| path.extension().is_some_and(|name| name == "log")).collect();
        logs.sort();
        paths.extend(logs);
        paths.iter().map(|path| format!("--- {}\n{}\n", path.display(), tail(path))).collect()
    }
}

fn tail(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(EXCERPT_LINES)..).unwrap_or_default().join("\n")
}

/// A machine that is starting.
#[derive(Debug)]
pub struct Starting {
    machine: Machine,
    begun: Instant,
}

impl Starting {
    /// Waits until the machine runs commands.
    pub fn wait(mut self) -> Result<Machine, MachineError> {
        let console = self.machine.folder.join(files::CONSOLE);
        let ready = wait::try_until(wait::scaled(START_WITHIN), || {
            if self.machine.process.has_ended() {
                let (name, problem) = (self.machine.name.clone(), "QEMU has ended".to_owned());
                return Err(MachineError::NotReady { name, problem, logs: self.machine.logs() });
            }
            Ok(fs::read(&console).is_ok_and(|text| String::from_utf8_lossy(&text).contains(READY)))
        })?;
        if !ready {
            return Err(MachineError::Hangs { name: self.machine.name.clone(), logs: self.machine.logs() });
        }
        self.machine.run("true")?;
        self.machine.started_within = self.begun.elapsed();
        Ok(self.machine)
    }
}

/// The process of QEMU. A thread that lives as long starts it, because it ends with the thread, and
/// a test may use a machine that another one started.
#[derive(Debug)]
struct Process {
    child: Arc<Mutex<Child>>,
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    fn start(mut command: Command) -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let (sender, started) = mpsc::channel();
        let thread = thread::spawn(move || {
            let child = command.spawn().map(|child| Arc::new(Mutex::new(child)));
            let process = child.as_ref().ok().map(Arc::clone);
            // The other thread waits for this.
            let _ = sender.send(child);
            let _ = ended.recv();
            if let Some(process) = process {
                let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = process.kill();
                let _ = process.wait();
            }
        });
        let child = started.recv().unwrap_or_else(|error| Err(io::Error::other(error)))?;
        Ok(Self { child, end: Some(end), thread: Some(thread) })
    }

    fn has_ended(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}
