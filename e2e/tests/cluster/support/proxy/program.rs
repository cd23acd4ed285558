//! Programs of usnet as processes of the test's own, which reach the API server through a
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

/// How long a program may take to end in good order.
const LONGEST_END: Duration = Duration::from_secs(20);

/// Ends when it is dropped.
pub(crate) struct Proxied {
    pub(crate) proxy: Proxy,
    process: Child,
    _folder: TempDir,
}

impl Proxied {
    /// `usnet <subcommand>` with these variables in its environment.
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

impl Drop for Proxied {
    fn drop(&mut self) {
        // Whatever it has to say at its end should pass.
        self.proxy.plan(|_| None);
        let asked = try_run("kill", &["-TERM", &self.process.id().to_string()], "").is_ok();
        if !asked || !wait::until(LONGEST_END, || matches!(self.process.try_wait(), Ok(Some(_)))) {
            eprintln!("a program behind a proxy did not end in good order");
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
