//! A program of `usnet` in a process and a folder of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// An API server that does not exist: no process listens at this reserved port.
const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "none",
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "none", "user": {}}]}"#;

/// A running program; killed when the test ends.
pub(crate) struct Program {
    process: Child,
    metrics: SocketAddr,
    probes: SocketAddr,
    _folder: TempDir,
}

impl Program {
    /// Starts it at free ports and waits until it listens.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, KUBECONFIG).unwrap();
        let place = |name: &str| folder.path().join(name);
        let mut process = Command::new(env!("CARGO_BIN_EXE_usnet"))
            .args(arguments)
            .args(["--listen-metrics", "127.0.0.1:0", "--listen-probes", "127.0.0.1:0", "--log-format", "json"])
            .env("KUBECONFIG", kubeconfig)
            .env("USNET_RUN_DIR", place("run"))
            .env("USNET_STATE_DIR", place("state"))
            .env("USNET_OVS_SOCKET", place("db.sock"))
            .env("USNET_VPP_SOCKET", place("api.sock"))
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let (metrics, probes) = addresses(&mut log);
        // A full pipe would stop the program.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { process, metrics, probes, _folder: folder }
    }

    /// The status and body of an answer.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let address = if path.starts_with("/metrics") { self.metrics } else { self.probes };
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Waits until `/readyz` answers 200.
    pub(crate) fn await_ready(&self) {
        let end = Instant::now() + PATIENCE;
        while self.get("/readyz").0 != 200 {
            assert!(Instant::now() < end, "not ready within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Terminates it with SIGTERM, as Kubernetes does.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.process.wait().unwrap()
    }
}

/// The addresses that the program logs: of metrics, and of probes.
fn addresses(log: &mut impl BufRead) -> (SocketAddr, SocketAddr) {
    let (mut metrics, mut probes) = (None, None);
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let Some(address) = line["address"].as_str() else { continue };
        let of_metrics = line.to_string().contains("serving /metrics");
        *(if of_metrics { &mut metrics } else { &mut probes }) = Some(address.parse().unwrap());
        if let (Some(metrics), Some(probes)) = (metrics, probes) {
            return (metrics, probes);
        }
    }
    panic!("the program ended before it listened");
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
