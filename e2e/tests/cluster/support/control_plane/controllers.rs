//! The two controllers of a test bed, as an administrator sees them: pods, the lease, processes,
//! metrics, logs.

use crate::support::cluster::{check, eventually, get, kubectl, on_node, try_run};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Where usnet is installed.
pub(crate) const NAMESPACE: &str = "usnet-system";

/// The pod of a controller, with what it takes to ask it while the API server is away.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    pub(crate) pod: String,
    node: String,
    address: String,
    /// How often its container was started again.
    pub(crate) restarts: u64,
}

impl Controller {
    /// All that are there.
    pub(crate) fn all() -> Vec<Self> {
        let pods = get(&["pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=controller"]).unwrap();
        pods["items"].as_array().unwrap().iter().map(Self::of).collect()
    }

    fn of(pod: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            pod: text(&pod["metadata"]["name"]),
            node: text(&pod["spec"]["nodeName"]),
            address: text(&pod["status"]["podIP"]),
            restarts: pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default(),
        }
    }

    /// What it says for monitoring.
    pub(crate) fn metrics(&self) -> Result<String, String> {
        curl(&self.node, &self.url(), &["--insecure", "--header", &authorization(reader_token())])
    }

    /// The status of the answer to a client with this token, or without any.
    pub(crate) fn metrics_status(&self, token: Option<&str>) -> String {
        let header = token.map(authorization);
        let header = header.iter().flat_map(|header| ["--header", header]).collect::<Vec<_>>();
        let status = ["--silent", "--insecure", "--output", "/dev/null", "--write-out", "%{http_code}"];
        let url = self.url();
        try_run("on-node", &[&[self.node.as_str(), "curl"], &status[..], &header, &[&url]].concat(), "").unwrap()
    }

    /// Whether it gives its metrics without TLS.
    pub(crate) fn answers_without_tls(&self) -> bool {
        curl(&self.node, &self.url().replace("https", "http"), &["--header", &authorization(reader_token())]).is_ok()
    }

    fn url(&self) -> String {
        format!("https://{}:8443/metrics", self.address)
    }

    /// Whether it says that it leads.
    pub(crate) fn leads(&self) -> Result<bool, String> {
        Ok(self.metrics()?.contains("usnet_controller_leader 1\n"))
    }

    pub(crate) fn log(&self) -> String {
        kubectl(&["logs", &self.pod, "-n", NAMESPACE])
    }
}

/// Asks the agent of a node for its metrics, from that node.
pub(crate) fn scrape(node: &str, address: &str) -> Result<String, String> {
    curl(node, &format!("http://{address}:28181/metrics"), &[])
}

fn curl(node: &str, url: &str, options: &[&str]) -> Result<String, String> {
    let words = [node, "curl", "--silent", "--fail", "--max-time", "10", url];
    try_run("on-node", &[&words[..], options].concat(), "")
}

fn authorization(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// A token that may read metrics, for an hour: also while the API server is away, as long as its
/// last answer counts.
fn reader_token() -> &'static str {
    static TOKEN: OnceLock<String> = OnceLock::new();
    TOKEN.get_or_init(|| {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "metrics-reader", "namespace": "default"},
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "metrics-reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "usnet-metrics-reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "metrics-reader", "namespace": "default"}],
        });
        for object in [account, binding] {
            try_run("kubectl", &["apply", "-f", "-"], &object.to_string()).unwrap();
        }
        token_of("metrics-reader")
    })
}

/// A token of a service account in the namespace `default`.
pub(crate) fn token_of(account: &str) -> String {
    kubectl(&["create", "token", account, "-n", "default"]).trim().to_owned()
}

/// The lease as it is now.
pub(crate) fn lease() -> Value {
    get(&["lease", "usnet-controller", "-n", NAMESPACE]).expect("there is no lease")["spec"].clone()
}

/// The pod that leads.
pub(crate) fn leader() -> String {
    eventually("a leader", || {
        lease()["holderIdentity"].as_str().map(str::to_owned).ok_or("there is no leader".to_owned())
    })
}

/// Both controllers run, so that one can take over from the other.
pub(crate) fn await_both() {
    eventually("two controllers", || {
        let deployment = get(&["deployment", "usnet-controller", "-n", NAMESPACE]).ok_or("none")?;
        check(deployment["status"]["readyReplicas"] == 2, deployment["status"].to_string())
    });
}

/// The process of a controller, by the name of its pod.
pub(crate) fn process(pod: &str) -> String {
    usnet_process("controller", &format!("POD_NAME={pod}"))
}

/// The process of the agent of a node.
pub(crate) fn agent_process(node: &str) -> String {
    usnet_process("agent", &format!("NODE_NAME={node}"))
}

/// The process of a subcommand of usnet with that in its environment. The nodes of a test bed share
/// their process ids.
fn usnet_process(subcommand: &str, variable: &str) -> String {
    let script = format!(
        "for pid in $(pgrep -f '^/usr/local/bin/usnet {subcommand}'); do if grep -qzx '{variable}' /proc/$pid/environ; then echo $pid; fi; done"
    );
    let pid = on_node("node-a", &["sh", "-c", &script]).trim().to_owned();
    assert!(!pid.is_empty() && pid.chars().all(|digit| digit.is_ascii_digit()), "processes of {variable}: {pid:?}");
    pid
}

/// Sends a signal, such as `-STOP`, to a process.
pub(crate) fn signal(signal: &str, pid: &str) {
    on_node("node-a", &["kill", signal, pid]);
}

/// Processes that stand still; they go on when this is dropped, if a test fails too.
pub(crate) struct Still(Vec<String>);

impl Still {
    pub(crate) fn stop(pids: Vec<String>) -> Self {
        let still = Self(pids);
        still.0.iter().for_each(|pid| signal("-STOP", pid));
        still
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _is_gone = try_run("on-node", &["node-a", "kill", "-CONT", pid], "");
        }
    }
}
