//! One daemon of Open vSwitch: started in the namespaces, killed as a crash would.

use crate::namespace::Namespaces;
use crate::{Error, tail};
use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const READY_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(2);
const TAIL_LINES: usize = 40;

/// A daemon, which may be running or not.
#[derive(Debug)]
pub(crate) struct Daemon {
    program: &'static str,
    arguments: Vec<String>,
    /// The capabilities that it does not have.
    lacking: &'static str,
    folder: PathBuf,
    control_socket: PathBuf,
    /// The process of `nsenter`, whose only child is the daemon. It ends with the daemon.
    process: Option<Child>,
}

impl Daemon {
    /// Adds the options that all daemons share (log, pid file, control socket). All files are in
    /// `folder`.
    pub(crate) fn new(program: &'static str, folder: &Path, arguments: Vec<String>) -> Self {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let file = |extension: &str| folder.join(format!("{name}.{extension}"));
        let control_socket = file("ctl");
        let mut all = arguments;
        all.push(format!("--unixctl={}", control_socket.display()));
        all.push(format!("--pidfile={}", file("pid").display()));
        all.push(format!("--log-file={}", file("log").display()));
        all.push("--verbose=console:off".to_owned());
        Self { program, arguments: all, lacking: "", folder: folder.to_owned(), control_socket, process: None }
    }

    pub(crate) fn without_capabilities(mut self, capabilities: &'static str) -> Self {
        self.lacking = capabilities;
        self
    }

    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    pub(crate) fn control_socket(&self) -> &Path {
        &self.control_socket
    }

    /// Returns the end of the daemon's log.
    pub(crate) fn log_tail(&self) -> String {
        let (log, output) = (self.control_socket.with_extension("log"), self.control_socket.with_extension("out"));
        format!("{}\n{}", tail(&log, TAIL_LINES), tail(&output, TAIL_LINES)).trim().to_owned()
    }

    /// Starts the daemon and waits until `socket` accepts a connection.
    pub(crate) fn start(&mut self, namespaces: &Namespaces, socket: &Path) -> Result<(), Error> {
        if self.process.is_some() {
            return Err(Error::RunsAlready(self.program));
        }
        if !Path::new(self.program).exists() {
            return Err(Error::MissingProgram(self.program.into()));
        }
        let path = self.control_socket.with_extension("out");
        let output = File::create(&path).map_err(|source| Error::File { path, source })?;
        let errors = output.try_clone().map_err(|source| Error::File { path: self.folder.clone(), source })?;
        let mut command = self.command(namespaces);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(output).stderr(errors);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"] {
            // DPDK keeps its files in the last one: two instances in one folder would disturb each
            // other.
            command.env(variable, &self.folder);
        }
        self.process = Some(command.spawn().map_err(|source| Error::program(&command, source))?);
        self.wait_for(socket)
    }

    fn command(&self, namespaces: &Namespaces) -> Command {
        if self.lacking.is_empty() {
            return namespaces.command(self.program);
        }
        let lacking = self.lacking.split(',').map(|name| format!("-{name}")).collect::<Vec<_>>().join(",");
        let mut command = namespaces.command("setpriv");
        command.args(["--bounding-set", &lacking, self.program]);
        command
    }

    fn wait_for(&mut self, socket: &Path) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while UnixStream::connect(socket).is_err() {
            if let Some(status) = self.process.as_mut().and_then(|process| process.try_wait().ok().flatten()) {
                self.process = None;
                return Err(self.failed(format!("it ended ({status})")));
            }
            if Instant::now() > deadline {
                return Err(self.failed(format!("no answer on {} within {READY_WITHIN:?}", socket.display())));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn failed(&self, problem: String) -> Error {
        Error::NotReady { daemon: self.program, problem, log: self.log_tail() }
    }

    /// Adds the end of the log to the error of a daemon that runs and does not work.
    #[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
    pub(crate) fn not_ready(&self, error: Error) -> Error {
        self.failed(error.to_string())
    }

    /// Ends the daemon with a signal (`KILL`, `TERM`), and waits until it has ended.
    pub(crate) fn end(&mut self, namespaces: &Namespaces, signal: &str) -> Result<(), Error> {
        self.signal(namespaces, signal)?;
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.wait().map(drop).map_err(|source| Error::Run { program: self.program.to_owned(), source })
    }

    /// Stops the daemon, so that it hangs. `nsenter` stops when its child does; only after that can
    /// it be resumed.
    pub(crate) fn pause(&self, namespaces: &Namespaces) -> Result<(), Error> {
        self.signal(namespaces, "STOP")?;
        let Some(process) = &self.process else { return Ok(()) };
        let path = PathBuf::from(format!("/proc/{}/stat", process.id()));
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let stat = fs::read_to_string(&path).map_err(|source| Error::File { path: path.clone(), source })?;
            if stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T')) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.failed(format!("not stopped within {READY_WITHIN:?}")));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Continues `nsenter`, which then continues its child.
    pub(crate) fn resume(&self) -> Result<(), Error> {
        let Some(process) = &self.process else { return Ok(()) };
        let mut command = Command::new("kill");
        command.args(["-s", "CONT", &process.id().to_string()]);
        crate::run(command).map(drop)
    }

    /// Does nothing if the daemon does not run.
    fn signal(&self, namespaces: &Namespaces, signal: &str) -> Result<(), Error> {
        if self.process.is_none() {
            return Ok(());
        }
        let path = self.control_socket.with_extension("pid");
        let pid = fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
        // The number in the file is that of the pid namespace.
        let mut command = namespaces.command("kill");
        command.args(["-s", signal, pid.trim()]);
        crate::run(command).map(drop)
    }
}

impl Drop for Daemon {
    /// The namespaces have ended, and so has the daemon. `nsenter` is not killed: it has to collect
    /// the daemon, because a pid namespace ends only when all of its processes are collected.
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ended = process.wait();
        }
    }
}
