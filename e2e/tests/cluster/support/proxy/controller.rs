//! The controller behind a [`Proxy`]. Those of the cluster are away meanwhile.

use crate::support::cluster::{check, eventually, kubectl, timeout, try_run};
use crate::support::control_plane::controllers::{NAMESPACE, lease};
use crate::support::proxy::program::Proxied;
use crate::support::proxy::server::Proxy;
use serde_json::Value;

/// By which it stands for election.
const IDENTITY: &str = "proxied";

/// Ends when it is dropped, and those of the cluster come back.
pub(crate) struct ProxiedController {
    program: Proxied,
    /// Dropped last.
    _others: Away,
}

impl ProxiedController {
    /// The only controller, which leads.
    pub(crate) fn start() -> Self {
        let others = Away::begin();
        let proxy = Proxy::start("usnet-controller", None);
        let program = Proxied::start(proxy, "controller", &[("POD_NAME", IDENTITY.to_owned())]);
        eventually("it leads", || check(leads(&lease()), lease().to_string()));
        Self { program, _others: others }
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        &self.program.proxy
    }
}

/// Whether the process of the test holds the lease.
pub(crate) fn leads(lease: &Value) -> bool {
    lease["holderIdentity"] == IDENTITY
}

/// The controllers of the cluster are away until this is dropped.
struct Away;

impl Away {
    fn begin() -> Self {
        let away = Self;
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
        away
    }
}

impl Drop for Away {
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
