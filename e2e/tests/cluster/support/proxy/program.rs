//! Programs of usnet as child processes of the test, which reach the API server through a
//! [`Proxy`].

use crate::support::cluster::try_run;
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::proxy::server::Proxy;
use serde_json::json;
use std::fs::{self, File};
use std::process::{Child, Command};
use std::time::Duration;
use tempfile::TempDir;
use usnet_e2e::host::wait;
use usnet_e2e::testbed::folder::TestbedFolder;
use usnet_e2e::testbed::settings::Settings;

/// The time limit of a graceful shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// A process that is stopped when this is dropped.
pub(crate) struct ProxiedProgram {
    pub(crate) proxy: Proxy,
    process: Child,
    _folder: TempDir,
}

impl ProxiedProgram {
    /// Starts `usnet <subcommand>` with these environment variables.
    pub(crate) fn start(proxy: Proxy, subcommand: &str, variables: &[(&str, String)]) -> Self {
        let testbed = TestbedFolder::new(std::env::var("USNET_WORLD").unwrap());
        let binaries = Settings::read(&testbed).unwrap().binaries.expect("usnet is installed in this test bed");
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_of(&proxy)).unwrap();
        let log = testbed.logs().join(format!("proxied-{subcommand}.log"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let process = Command::new(binaries.join("usnet"))
            .arg(subcommand)
            .env("KUBECONFIG", kubeconfig)
            .envs(variables.iter().cloned())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { proxy, process, _folder: folder }
    }
}

impl Drop for ProxiedProgram {
    fn drop(&mut self) {
        // The last requests of the program are not disturbed.
        self.proxy.plan(|_| None);
        let is_signaled = try_run("kill", &["-TERM", &self.process.id().to_string()], "").is_ok();
        if !is_signaled || !wait::until(SHUTDOWN_TIMEOUT, || matches!(self.process.try_wait(), Ok(Some(_)))) {
            eprintln!("a program behind a proxy did not shut down gracefully");
            let _killed = self.process.kill().and_then(|()| self.process.wait());
        }
    }
}

fn kubeconfig_of(proxy: &Proxy) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": format!("http://{}", proxy.address)}}],
        "users": [{"name": "anonymous", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "anonymous", "namespace": NAMESPACE}}],
    });
    config.to_string()
}
