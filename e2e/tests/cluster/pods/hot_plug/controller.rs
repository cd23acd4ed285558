//! The controller that tells Multus' daemon which networks to attach to a running pod and to
//! detach: the program that `USNET_DYNAMIC_NETWORKS` names, or else a replacement, because the Go
//! module of the program is on no module proxy.

use super::daemon;
use super::in_cluster::InCluster;
use super::stand_in::StandIn;
use crate::support::cluster::on_node;
use crate::support::pods::NODE;
use serde_json::json;
use std::process::Child;

const VARIABLE: &str = "USNET_DYNAMIC_NETWORKS";
const FILE: &str = "/etc/dynamic-networks.json";

/// A controller, while this lives.
pub(super) enum Controller {
    Real(Child),
    StandIn(#[expect(dead_code, reason = "its end is what it is kept for")] StandIn),
}

impl Controller {
    pub(super) fn start(in_cluster: &InCluster) -> Self {
        let Some(program) = std::env::var_os(VARIABLE) else {
            println!(
                "left out: multus-dynamic-networks-controller, for which a stand-in is used: {VARIABLE} is not set"
            );
            return Self::StandIn(StandIn::start());
        };
        let configuration =
            json!({"criSocketPath": "/run/containerd/containerd.sock", "multusSocketPath": daemon::SOCKET});
        on_node(NODE, &["sh", "-c", &format!("echo '{configuration}' > {FILE}")]);
        let option = format!("-config={FILE}");
        Self::Real(in_cluster.start("dynamic-networks", &[&program.to_string_lossy(), &option, "-v=5"]))
    }

    /// Its name for what is printed.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Real(_) => "multus-dynamic-networks-controller",
            Self::StandIn(_) => "a stand-in for multus-dynamic-networks-controller",
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if let Self::Real(process) = self {
            let _ended = process.kill();
            let _reaped = process.wait();
        }
    }
}
