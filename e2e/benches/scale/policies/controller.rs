//! The process under test: `usnet policies`.

use crate::cluster::controllers::program;
use crate::cluster::kubeconfig::write_kubeconfig;
use crate::cluster::{Cluster, tokens};
use crate::measure::process::{cpu_seconds, peak_mib};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Dropping it ends it.
pub(super) struct PolicyController {
    child: Child,
    log: PathBuf,
}

impl PolicyController {
    pub(super) async fn start(cluster: &Cluster) -> Self {
        let token = tokens::issue(&cluster.admin, "usnet-policies", None).await;
        let log = cluster.server.folder.path().join("policies.log");
        let file = File::create(&log).expect("a log");
        let mut command = Command::new(program());
        command.arg("policies").env("KUBECONFIG", write_kubeconfig(&cluster.server, "policies", &token));
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a log")).stderr(file);
        Self { child: command.spawn().expect("the controller starts"), log }
    }

    /// Panics with the log if it has ended.
    pub(super) fn check(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            println!("{}", fs::read_to_string(&self.log).unwrap_or_default());
            panic!("usnet policies has ended ({status}); its log is above");
        }
    }

    pub(super) fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.child.id())
    }

    pub(super) fn peak_mib(&self) -> f64 {
        peak_mib(self.child.id())
    }

    pub(super) fn cost(&self) -> String {
        format!("{:.2} / {:.0}", self.cpu_seconds(), self.peak_mib())
    }
}

impl Drop for PolicyController {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
