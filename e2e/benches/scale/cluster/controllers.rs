//! The program under test: two replicas of `usnet controller`.

use std::env;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use usnet_e2e::host::{probes, wait};

use crate::api_server::free_port;
use crate::measure::process::{cpu_seconds, peak_mib};

const REPLICAS: usize = 2;
const END: Duration = Duration::from_secs(30);
const LEASE: &str = "usnet-controller";

/// How long a replica may take until it has read the cluster.
const READY: Duration = Duration::from_secs(120);

struct Replica {
    identity: String,
    telemetry: SocketAddr,
    child: Child,
}

/// Two replicas; dropping them ends them.
pub(crate) struct Controllers {
    kubeconfig: PathBuf,
    folder: PathBuf,
    replicas: Vec<Replica>,
    started: usize,
    /// Of those that have ended.
    peak_mib: f64,
}

impl Controllers {
    pub(crate) fn new(kubeconfig: PathBuf, folder: &Path) -> Self {
        Self { kubeconfig, folder: folder.to_owned(), replicas: Vec::new(), started: 0, peak_mib: 0.0 }
    }

    /// Starts as many as are missing.
    pub(crate) fn start(&mut self) {
        while self.replicas.len() < REPLICAS {
            self.started += 1;
            let identity = format!("controller-{}", self.started);
            let log = File::create(self.log(&identity)).expect("a log");
            let mut command = Command::new(program());
            let telemetry = free_port();
            command.args(["controller", "--identity", &identity, "--listen-probes", &telemetry.to_string()]);
            command.env("KUBECONFIG", &self.kubeconfig);
            command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
            let child = command.spawn().expect("the controller starts");
            self.replicas.push(Replica { identity, telemetry, child });
        }
    }

    /// Waits until every replica has read the cluster, whichever one is the leader.
    pub(crate) fn wait_until_ready(&mut self) {
        for replica in &self.replicas {
            wait::until(READY, probes::http(replica.telemetry, "/readyz"));
        }
        self.check();
    }

    /// Who leads, by the lease; none while no running replica does.
    pub(crate) async fn leader(&self, client: &Client) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), "usnet-system");
        let holder = leases.get_opt(LEASE).await.ok()??.spec?.holder_identity?;
        self.replicas.iter().any(|replica| replica.identity == holder).then_some(holder)
    }

    /// Sends a signal to one replica, which ends by it, and forgets it.
    pub(crate) fn signal(&mut self, identity: &str, signal: Signal) -> Child {
        self.note_peak();
        let index = self.replicas.iter().position(|replica| replica.identity == identity).expect("a replica");
        let child = self.replicas.swap_remove(index).child;
        send(&child, signal);
        child
    }

    /// Ends all; the lease is given back.
    pub(crate) fn end(&mut self) {
        self.note_peak();
        for mut replica in self.replicas.drain(..) {
            send(&replica.child, Signal::SIGTERM);
            let has_ended = wait::until(END, || replica.child.try_wait().is_ok_and(|status| status.is_some()));
            if !has_ended {
                let _ = replica.child.kill();
            }
            let _ = replica.child.wait();
        }
    }

    /// Panics with the log of a replica that has ended by itself.
    fn check(&mut self) {
        for replica in &mut self.replicas {
            if let Ok(Some(status)) = replica.child.try_wait() {
                let log = self.folder.join(format!("{}.log", replica.identity));
                println!("{}", fs::read_to_string(log).unwrap_or_default());
                panic!("{} has ended ({status}); its log is above", replica.identity);
            }
        }
    }

    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.replicas.iter().map(|replica| cpu_seconds(replica.child.id())).sum()
    }

    /// Of the largest, also of those that have ended.
    pub(crate) fn peak_mib(&mut self) -> f64 {
        self.note_peak();
        self.peak_mib
    }

    fn note_peak(&mut self) {
        let peaks = self.replicas.iter().map(|replica| peak_mib(replica.child.id()));
        self.peak_mib = peaks.fold(self.peak_mib, f64::max);
    }

    fn log(&self, identity: &str) -> PathBuf {
        self.folder.join(format!("{identity}.log"))
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            let _ = replica.child.kill();
            let _ = replica.child.wait();
        }
    }
}

/// The release binary of usnet, which `make bench` builds.
pub(crate) fn program() -> PathBuf {
    let folder = env::var_os("USNET_BINARIES").expect("USNET_BINARIES names the folder of usnet: use `make bench`");
    Path::new(&folder).join("usnet")
}

fn send(child: &Child, signal: Signal) {
    let process = i32::try_from(child.id()).expect("a process");
    kill(Pid::from_raw(process), signal).expect("a signal is sent");
}
