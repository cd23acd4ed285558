//! The programs of pods: DPDK's testpmd, without hugepages and PCI devices.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use usnet_crds::SocketRole;
use usnet_dataplane::port::PodBackend;

const PROGRAM: &str = "/usr/bin/dpdk-testpmd";

/// A program that is connected to a port, until it is dropped.
pub(crate) struct Testpmd {
    process: Child,
    log: PathBuf,
    /// What DPDK leaves of it.
    runtime_folder: PathBuf,
}

/// The packets of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueuePackets {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

impl Testpmd {
    pub(crate) fn is_installed() -> bool {
        let is_there = Path::new(PROGRAM).exists();
        if !is_there {
            let text = format!("SKIPPED: there is no {PROGRAM}; Debian's package dpdk-dev has it\n");
            // Not with eprintln!, whose text the test harness shows only for a test that fails.
            let _written = std::io::stderr().write_all(text.as_bytes());
        }
        is_there
    }

    /// Starts a program with so many queues; `arguments` are what it does with its packets.
    pub(crate) fn start(folder: &Path, name: &str, backend: PodBackend<'_>, queues: u32, arguments: &[&str]) -> Self {
        let queues_of_ports = [format!("--rxq={queues}"), format!("--txq={queues}")];
        let arguments: Vec<&str> =
            queues_of_ports.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        Self::with_devices(folder, name, &[device(backend, queues)], &arguments)
    }

    /// Starts a program that sends the frames of a tap of the kernel by the port, byte by byte, and
    /// the other way round. It creates the tap.
    pub(crate) fn forward(folder: &Path, name: &str, backend: PodBackend<'_>, tap: &str) -> Self {
        Self::with_devices(folder, name, &[device(backend, 1), format!("net_tap0,iface={tap}")], &[])
    }

    fn with_devices(folder: &Path, name: &str, devices: &[String], arguments: &[&str]) -> Self {
        let prefix = format!("{}-{name}", folder.file_name().expect("a name").to_str().expect("UTF-8"));
        // Its output is a file, to which it would write in large blocks.
        let mut command = Command::new("stdbuf");
        command.args(["-oL", PROGRAM, "--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "128"]);
        command.arg(format!("--file-prefix={prefix}"));
        command.args(devices.iter().map(|device| format!("--vdev={device}"))).arg("--");
        command.args(["--total-num-mbufs=4096", "--no-mlockall", "--interactive", "--auto-start"]).args(arguments);
        let log = folder.join(format!("testpmd-{name}.log"));
        let output = File::create(&log).expect("a file");
        let errors = output.try_clone().expect("a file");
        let process = command.stdin(Stdio::piped()).stdout(output).stderr(errors).spawn().expect("testpmd");
        Self { process, log, runtime_folder: Path::new("/var/run/dpdk").join(prefix) }
    }

    fn type_in(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").unwrap_or_else(|error| panic!("testpmd: {error}:\n{}", self.output()));
    }

    pub(crate) fn output(&self) -> String {
        fs::read_to_string(&self.log).expect("its output")
    }

    /// Asks for the packets of each queue, which it prints some time later.
    pub(crate) fn ask(&mut self) {
        self.type_in("show fwd stats all");
    }

    /// The packets of each queue, as last printed.
    pub(crate) fn packets(&self) -> Vec<QueuePackets> {
        let output = self.output();
        let mut queues: Vec<QueuePackets> = Vec::new();
        let mut rest = output.as_str();
        while let Some((_, stream)) = rest.split_once("Forward Stats for RX Port= 0/Queue=") {
            let (number, counts) = stream.split_once(" -> ").unwrap_or_default();
            let count = |name: &str| {
                let found = counts.split_once(name).and_then(|(_, text)| text.split_whitespace().next());
                found.and_then(|text| text.parse().ok()).unwrap_or(0)
            };
            let number: usize = number.trim().parse().unwrap_or(0);
            queues.resize(queues.len().max(number + 1), QueuePackets::default());
            queues[number] = QueuePackets { received: count("RX-packets:"), sent: count("TX-packets:") };
            rest = counts;
        }
        queues
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
        let _removed = fs::remove_dir_all(&self.runtime_folder);
    }
}

/// The device as DPDK names it.
fn device(backend: PodBackend<'_>, queues: u32) -> String {
    let file = backend.socket_file().expect("a file").display();
    match backend {
        PodBackend::VhostUser { engine_role, .. } => {
            let server = u8::from(engine_role == SocketRole::Client);
            format!("net_virtio_user0,path={file},server={server},queues={queues},queue_size=256")
        }
        PodBackend::Memif { .. } => format!("net_memif0,role=client,id=0,socket={file},socket-abstract=no"),
        PodBackend::Veth { .. } | PodBackend::Tap { .. } => panic!("a device of the kernel has no program"),
    }
}
