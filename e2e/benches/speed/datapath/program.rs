//! DPDK's testpmd with both ports, which sends each frame back to whom it is from.

use super::{BRIDGE, PORTS};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use usnet_test_openvswitch::OpenVswitch;

const CONNECTED_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Program {
    process: Child,
    /// What DPDK leaves of it.
    runtime_folder: PathBuf,
}

pub(super) fn socket(switch: &OpenVswitch, port: &str) -> PathBuf {
    switch.folder().join(format!("{port}.sock"))
}

/// The form of the rings that a program shares with the switch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rings {
    /// What DPDK's driver has by default.
    Split,
    Packed,
}

impl Program {
    /// Starts the program, and waits until the switch is connected to both ports.
    pub(super) fn start(switch: &OpenVswitch, rings: Rings) -> Self {
        let prefix = format!("bench-{}", std::process::id());
        let mut command = Command::new("dpdk-testpmd");
        // The second core is that which forwards: the packet thread of the switch has the first.
        command.args(["--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "128"]);
        command.arg(format!("--file-prefix={prefix}"));
        for (place, port) in PORTS.iter().enumerate() {
            let path = socket(switch, port.name);
            // One that was killed leaves it, and DPDK does not listen where a file is.
            let _absent = fs::remove_file(&path);
            let path = path.display();
            let packed = u8::from(matches!(rings, Rings::Packed));
            let settings = format!("server=1,mac={},queue_size=1024,packed_vq={packed}", port.mac);
            command.arg(format!("--vdev=net_virtio_user{place},path={path},{settings}"));
        }
        command.args(["--", "--total-num-mbufs=16384", "--no-mlockall", "--interactive", "--txd=1024", "--rxd=1024"]);
        let [one, two] = PORTS;
        command.args(["--forward-mode=5tswap", "--port-topology=loop"]);
        command.arg(format!("--eth-peer=0,{}", two.mac)).arg(format!("--eth-peer=1,{}", one.mac));
        command.arg(format!("--tx-ip={},{}", one.address, two.address));
        let log = File::create(switch.folder().join("testpmd.log")).expect("a file");
        let errors = log.try_clone().expect("a file");
        let process = command.stdin(Stdio::piped()).stdout(log).stderr(errors).spawn().expect("dpdk-testpmd starts");
        let program = Self { process, runtime_folder: PathBuf::from("/var/run/dpdk").join(prefix) };
        let began = Instant::now();
        while !PORTS.iter().all(|port| is_connected(switch, port.name)) {
            assert!(began.elapsed() < CONNECTED_WITHIN, "{BRIDGE} has no connection to the program");
            thread::sleep(Duration::from_millis(50));
        }
        program
    }

    /// Sends so many bursts of 32 frames by each port.
    pub(super) fn send(&mut self, bursts: u32) {
        let input = self.process.stdin.as_mut().expect("a pipe");
        writeln!(input, "stop\nstart tx_first {bursts}").expect("the program reads");
    }
}

fn is_connected(switch: &OpenVswitch, port: &str) -> bool {
    let state = switch.vsctl(&["get", "Interface", port, "link_state"]).unwrap_or_default();
    state.trim() == "up"
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
        let _removed = fs::remove_dir_all(&self.runtime_folder);
    }
}
