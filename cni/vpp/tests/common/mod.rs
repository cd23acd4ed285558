//! What the tests against a real VPP and against a scripted one share.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![allow(clippy::expect_used, clippy::print_stderr, reason = "a test fails by panicking, and says why it is skipped")]

pub mod scripted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{CreateLoopbackInstance, SwInterfaceDetails, SwInterfaceDump};
use usnet_vpp::{Batch, messages};

/// Long enough never to be reached where an answer comes.
pub const AMPLE: Duration = Duration::from_secs(30);
/// Short enough to wait for where none comes.
pub const SHORT: Duration = Duration::from_millis(100);

/// A real VPP without huge pages, ended when it is dropped or when the test's thread ends.
pub struct Vpp {
    process: Option<Child>,
    folder: TempDir,
    /// The name of its shared memory.
    prefix: String,
    program: PathBuf,
}

impl Vpp {
    /// Starts one, if there is one on this machine.
    pub fn start() -> Option<Self> {
        Self::start_with("plugins { plugin default { enable } }")
    }

    /// Starts one with another section about plugins.
    pub fn start_with(plugins: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Some(program) = program() else {
            eprintln!("skipped: there is no VPP; set USNET_VPP to one or put it on PATH");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("vpp").tempdir().expect("folder");
        let prefix = format!("vpp-usnet-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = folder.path().display();
        let configuration = format!(
            "unix {{ nodaemon nosyslog nobanner nocolor runtime-dir {path} cli-listen {path}/cli.sock poll-sleep-usec 100 }}\n\
             memory {{ main-heap-size 128M main-heap-page-size 4k }}\n\
             buffers {{ page-size 4k buffers-per-numa 2048 }}\n\
             socksvr {{ socket-name {path}/api.sock }}\n\
             api-segment {{ prefix {prefix} }}\n\
             statseg {{ socket-name {path}/stats.sock size 32M page-size 4k per-node-counters off }}\n\
             {plugins}\n"
        );
        fs::write(folder.path().join("startup.conf"), configuration).expect("startup.conf");
        let mut vpp = Self { process: None, folder, prefix, program };
        vpp.start_again();
        Some(vpp)
    }

    /// Starts the process and waits until it answers.
    pub fn start_again(&mut self) {
        let log = fs::File::create(self.folder.path().join("out.log")).expect("log");
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.program)
            .arg("-c")
            .arg(self.folder.path().join("startup.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("log"))
            .stderr(log)
            .spawn();
        self.process = Some(process.expect("vpp"));
        let end = Instant::now() + AMPLE;
        while let Err(error) = Client::connect(self.socket(), AMPLE) {
            let log = || fs::read_to_string(self.folder.path().join("out.log")).unwrap_or_default();
            assert!(Instant::now() < end, "VPP does not come up: {error}\n{}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("kill");
            process.wait().expect("wait");
        }
    }

    /// Sends a signal to it.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("api.sock")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn client(&self) -> Client {
        Client::connect(self.socket(), AMPLE).expect("connect")
    }
}

impl Drop for Vpp {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ended = process.kill().and_then(|()| process.wait());
        }
        for part in ["global_vm", "vpe-api"] {
            let _gone = fs::remove_file(format!("/dev/shm/{}-{part}", self.prefix));
        }
    }
}

fn program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("USNET_VPP") {
        return Some(program.into());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join("vpp")).find(|path| path.is_file())
}

/// All interfaces.
pub fn interfaces(client: &mut Client) -> Vec<SwInterfaceDetails> {
    let mut batch = Batch::new();
    let dump = batch.dump(all_interfaces());
    client.send(&batch).expect("answers").details(dump).expect("interfaces")
}

pub fn all_interfaces() -> SwInterfaceDump {
    SwInterfaceDump { sw_if_index: messages::NO_INTERFACE, ..SwInterfaceDump::default() }
}

/// A batch that makes a loopback interface.
pub fn loopback() -> Batch {
    let mut batch = Batch::new();
    batch.request(CreateLoopbackInstance::default());
    batch
}
