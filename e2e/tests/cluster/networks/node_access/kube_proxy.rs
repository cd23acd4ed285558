//! Kubernetes' kube-proxy on a node, which has none in other tests.

use crate::support::cluster::try_run;
use std::process::{Child, Command, Stdio};

/// It runs until this is dropped, and leaves no rules then.
pub(super) struct KubeProxy {
    node: &'static str,
    process: Child,
}

impl KubeProxy {
    pub(super) fn start(node: &'static str) -> Self {
        let kubeconfig = std::env::var("KUBECONFIG").expect("the test bed sets it");
        let process = Command::new("on-node")
            .args([node, "kube-proxy", "--proxy-mode=nftables", "--cluster-cidr=10.244.0.0/16"])
            .args([format!("--kubeconfig={kubeconfig}"), format!("--hostname-override={node}")])
            // Limits of connections concern all network namespaces of the machine.
            .args(["--conntrack-max-per-core=0", "--conntrack-min=0"])
            .args(["--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("on-node");
        Self { node, process }
    }
}

impl Drop for KubeProxy {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
        let script = format!(
            "pkill -f '^kube-proxy .*--hostname-override={}'; for family in ip ip6; do nft delete table $family kube-proxy; done",
            self.node
        );
        let _cleaned = try_run("on-node", &[self.node, "sh", "-c", &script], "");
    }
}
