//! A controller behind a [`Proxy`], which replaces those of the cluster.

use crate::support::cluster::{check, eventually, kubectl, timeout, try_run};
use crate::support::control_plane::controllers::{NAMESPACE, lease};
use crate::support::proxy::program::ProxiedProgram;
use crate::support::proxy::server::Proxy;
use serde_json::Value;

/// The identity of the controller in the leader election.
const IDENTITY: &str = "proxied";

/// The controller. When this is dropped, it is stopped and those of the cluster are started again.
pub(crate) struct ProxiedController {
    program: ProxiedProgram,
    /// Dropped last.
    _others: ScaledDown,
}

impl ProxiedController {
    /// Starts the controller and waits until it is the leader.
    pub(crate) fn start() -> Self {
        let others = ScaledDown::start();
        let proxy = Proxy::start("usnet-controller", None);
        let program = ProxiedProgram::start(proxy, "controller", &[("POD_NAME", IDENTITY.to_owned())]);
        eventually("the controller is the leader", || check(leads(&lease()), lease().to_string()));
        Self { program, _others: others }
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        &self.program.proxy
    }
}

/// Whether this controller holds the lease.
pub(crate) fn leads(lease: &Value) -> bool {
    lease["holderIdentity"] == IDENTITY
}

/// The deployment of the controllers has no replicas until this is dropped.
struct ScaledDown;

impl ScaledDown {
    fn start() -> Self {
        let scaled_down = Self;
        scale(0).unwrap();
        eventually("the controllers of the cluster are gone", || {
            let pods = kubectl(&[
                "get",
                "pods",
                "-n",
                NAMESPACE,
                "-l",
                "app.kubernetes.io/component=controller",
                "-o",
                "name",
            ]);
            check(pods.trim().is_empty(), pods)
        });
        scaled_down
    }
}

impl Drop for ScaledDown {
    fn drop(&mut self) {
        let wait = ["rollout", "status", "-n", NAMESPACE, timeout(), "deployment/usnet-controller"];
        if let Err(error) = scale(2).and_then(|_| try_run("kubectl", &wait, "")) {
            eprintln!("{error}");
        }
    }
}

fn scale(replicas: usize) -> Result<String, String> {
    let replicas = format!("--replicas={replicas}");
    try_run("kubectl", &["scale", "deployment", "usnet-controller", "-n", NAMESPACE, &replicas], "")
}
