//! The two controllers of a test bed: pods, the lease, processes, metrics and logs.

use crate::support::cluster::{check, eventually, get, kubectl, on_node, try_run};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// The namespace of usnet.
pub(crate) const NAMESPACE: &str = "usnet-system";

/// The pod of a controller, with the address of its metrics, which can be read without the API
/// server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    pub(crate) pod: String,
    node: String,
    address: String,
    /// The number of restarts of its container.
    pub(crate) restarts: u64,
}

impl Controller {
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

    /// Reads the metrics.
    pub(crate) fn metrics(&self) -> Result<String, String> {
        curl(&self.node, &self.url(), &["--insecure", "--header", &authorization(reader_token())])
    }

    /// Returns the HTTP status for a client with this token, or without one.
    pub(crate) fn metrics_status(&self, token: Option<&str>) -> String {
        curl_status(&self.node, &self.url(), token)
    }

    /// Whether the metrics are served without TLS.
    pub(crate) fn serves_without_tls(&self) -> bool {
        curl(&self.node, &self.url().replace("https", "http"), &["--header", &authorization(reader_token())]).is_ok()
    }

    fn url(&self) -> String {
        format!("https://{}:8443/metrics", self.address)
    }

    /// Whether the metrics report this controller as the leader.
    pub(crate) fn is_leader(&self) -> Result<bool, String> {
        Ok(self.metrics()?.contains("usnet_controller_leader 1\n"))
    }

    pub(crate) fn log(&self) -> String {
        kubectl(&["logs", &self.pod, "-n", NAMESPACE])
    }
}

/// Reads the metrics of the agent of a node, from that node.
pub(crate) fn scrape(node: &str, address: &str) -> Result<String, String> {
    curl(node, &format!("http://{address}:28181/metrics"), &[])
}

/// Returns the HTTP status of a URL for a client on a node with this token, or without one; 000 if
/// there is no answer.
pub(crate) fn curl_status(node: &str, url: &str, token: Option<&str>) -> String {
    let header = token.map(authorization);
    let header = header.iter().flat_map(|header| ["--header", header]).collect::<Vec<_>>();
    let status = ["--silent", "--insecure", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code}"];
    try_run("on-node", &[&[node, "curl"], &status[..], &header, &[url]].concat(), "").unwrap_or_else(|_| "000".into())
}

fn curl(node: &str, url: &str, options: &[&str]) -> Result<String, String> {
    let words = [node, "curl", "--silent", "--fail", "--max-time", "10", url];
    try_run("on-node", &[&words[..], options].concat(), "")
}

fn authorization(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// Returns a token that may read metrics for an hour, even without the API server while its last
/// review of the token is cached.
pub(crate) fn reader_token() -> &'static str {
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

/// Creates a token of a service account in the namespace `default`.
pub(crate) fn token_of(account: &str) -> String {
    kubectl(&["create", "token", account, "-n", "default"]).trim().to_owned()
}

/// Returns the spec of the present lease.
pub(crate) fn lease() -> Value {
    get(&["lease", "usnet-controller", "-n", NAMESPACE]).expect("there is no lease")["spec"].clone()
}

/// Waits for a leader and returns its pod.
pub(crate) fn leader() -> String {
    eventually("a leader", || {
        lease()["holderIdentity"].as_str().map(str::to_owned).ok_or("there is no leader".to_owned())
    })
}

/// Waits until both controllers are ready, so one can take over from the other.
pub(crate) fn await_both() {
    eventually("two controllers", || {
        let deployment = get(&["deployment", "usnet-controller", "-n", NAMESPACE]).ok_or("none")?;
        check(deployment["status"]["readyReplicas"] == 2, deployment["status"].to_string())
    });
}

/// Returns the process of a controller, by the name of its pod.
pub(crate) fn process(pod: &str) -> String {
    usnet_process("controller", &format!("POD_NAME={pod}"))
}

/// Returns the process of the agent of a node.
pub(crate) fn agent_process(node: &str) -> String {
    usnet_process("agent", &format!("NODE_NAME={node}"))
}

/// Returns the process of a subcommand of usnet with this variable in its environment. All nodes of
/// a test bed share one pid namespace.
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

/// Processes that are stopped by SIGSTOP. They continue when this is dropped, even if a test fails.
pub(crate) struct StoppedProcesses(Vec<String>);

impl StoppedProcesses {
    pub(crate) fn stop(pids: Vec<String>) -> Self {
        let stopped = Self(pids);
        stopped.0.iter().for_each(|pid| signal("-STOP", pid));
        stopped
    }
}

impl Drop for StoppedProcesses {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _is_gone = try_run("on-node", &["node-a", "kill", "-CONT", pid], "");
        }
    }
}
