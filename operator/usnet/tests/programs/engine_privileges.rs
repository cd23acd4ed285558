//! Open vSwitch, started by the supervisor with the capabilities of its pod, and without each: none
//! is more than it needs. Nothing of the machine is used but its programs.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_crds::EngineKind;
use usnet_engines::controller::capabilities;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The switch with DPDK of Debian's package, where the programs of the image are, too.
const SWITCH: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
/// Runs the supervisor in namespaces of its own, with a folder `/run` of its own.
const START: &str = "mount -t tmpfs run /run && ip link set lo up && ip link add va type veth peer name vb && \
    exec setpriv --bounding-set=\"$CAPABILITIES\" --inh-caps=-all --no-new-privs \
    \"$USNET\" supervise-engine --settings \"$SETTINGS\"";
/// A program of a pod runs as a user that the engine is not.
const USER_OF_POD: u32 = 1000;

/// What the engine did.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    /// A bridge, whose own device is a tap device.
    bridge: bool,
    /// A port on a kernel interface.
    device: bool,
    /// A connection to the socket of a pod's program.
    socket: bool,
}

#[test]
fn open_vswitch_needs_each_capability_of_its_pod() {
    let all = capabilities(EngineKind::OpenVswitch);
    assert_eq!(done_with(all), Done { bridge: true, device: true, socket: true });
    let rows = [
        ("NET_ADMIN", Done { bridge: false, device: false, socket: false }),
        ("NET_RAW", Done { bridge: true, device: false, socket: true }),
        ("DAC_OVERRIDE", Done { bridge: true, device: true, socket: false }),
    ];
    assert_eq!(rows.iter().map(|(capability, _)| *capability).collect::<Vec<_>>(), all, "each has a row");
    for (without, expected) in rows {
        let others: Vec<&str> = all.iter().copied().filter(|capability| *capability != without).collect();
        assert_eq!(done_with(&others), expected, "without {without}");
    }
}

fn done_with(capabilities: &[&str]) -> Done {
    let engine = Engine::start(capabilities);
    engine.await_running();
    engine.vsctl(&["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"]);
    engine.vsctl(&["add-port", "br0", "va"]);
    let has_port = |name: &str| engine.vsctl(&["get", "Interface", name, "ofport"]).parse::<u32>().is_ok();
    let (bridge, device) = (has_port("br0"), has_port("va"));
    Done { bridge, device, socket: bridge && engine.connects_to_a_socket() }
}

/// An engine in namespaces of its own; ended with this.
struct Engine {
    process: Child,
    folder: TempDir,
}

impl Engine {
    fn start(capabilities: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let memory = json!({"packets": "256Mi", "process": "256Mi"});
        let settings = json!({"name": "test", "spec": {"engine": "OVS", "image": "none", "memory": memory}});
        fs::write(folder.path().join("engine.json"), settings.to_string()).unwrap();
        symlink(SWITCH, folder.path().join("ovs-vswitchd")).unwrap();
        // Programs of pods have folders that everybody may enter.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let added = capabilities.iter().map(|capability| format!(",+{}", capability.to_lowercase()));
        let process = Command::new("unshare")
            .args(["--net", "--mount", "--propagation=private", "sh", "-c", START])
            .env("PATH", format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap()))
            .env("CAPABILITIES", format!("-all{}", added.collect::<String>()))
            .env("USNET", env!("CARGO_BIN_EXE_usnet"))
            .env("SETTINGS", folder.path().join("engine.json"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { process, folder }
    }

    /// Runs a command in the namespaces of the engine, with all privileges.
    fn run(&self, command: &[&str]) -> String {
        let target = format!("--target={}", self.process.id());
        let output = Command::new("nsenter").args([&target, "--net", "--mount"]).args(command).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Prints what the database has; an error of the switch is in the log.
    fn vsctl(&self, arguments: &[&str]) -> String {
        self.run(&[&["ovs-vsctl", "--db=unix:/run/openvswitch/db.sock", "--timeout=30"], arguments].concat())
    }

    fn await_running(&self) {
        self.await_until("the engine runs", || {
            let report = self.run(&["cat", "/run/usnet/engines/OVS.json"]);
            serde_json::from_str::<Value>(&report).is_ok_and(|report| report["state"] == "Running")
        });
    }

    /// Whether it connects to a socket that another user has created.
    fn connects_to_a_socket(&self) -> bool {
        let path = self.folder.path().join("pod.sock");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        chown(&path, Some(USER_OF_POD), Some(USER_OF_POD)).unwrap();
        let server = format!("options:vhost-server-path={}", path.display());
        let interface = ["--", "set", "Interface", "vhost", "type=dpdkvhostuserclient", &server];
        self.vsctl(&[&["add-port", "br0", "vhost"], &interface[..]].concat());
        let mut is_connected = false;
        self.await_until("a connection, or its refusal", || {
            is_connected = listener.accept().is_ok();
            is_connected || self.log().contains("failed to connect: Permission denied")
        });
        is_connected
    }

    fn await_until(&self, what: &str, mut is_done: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_done() {
            assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        let path: PathBuf = self.folder.path().join("log");
        fs::read_to_string(path).unwrap()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It ends its processes.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}
