//! Runs programs of a DaemonSet directly on a node, with the files that Kubernetes mounts into a
//! container, and their identity for the API server.

use crate::support::cluster::{apply, kubectl, on_node, try_run};
use crate::support::pods::NODE;
use crate::support::vpp::process;
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Child, Command, Stdio};

const ACCOUNT: &str = "hot-plug";
/// Where Kubernetes' Go client looks; `/var/run` leads to `/run`.
const SECRETS: &str = "/run/secrets/kubernetes.io/serviceaccount";

/// An account with the rights of both projects' manifests, and its files on the node, while this
/// lives.
pub(super) struct InCluster {
    host: String,
    port: String,
}

impl InCluster {
    pub(super) fn new(namespace: &str) -> Self {
        apply_account(namespace);
        let token = kubectl(&["create", "token", ACCOUNT, "-n", namespace, "--duration=4h"]);
        let config: Value = serde_json::from_str(&kubectl(&["config", "view", "--raw", "-o", "json"])).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        let authority = std::fs::read_to_string(cluster["certificate-authority"].as_str().unwrap()).unwrap();
        let script = format!(
            "mkdir -p {SECRETS} && printf %s '{}' >{SECRETS}/token && printf %s '{authority}' >{SECRETS}/ca.crt",
            token.trim()
        );
        on_node(NODE, &["sh", "-c", &script]);
        let (host, port) = cluster["server"].as_str().unwrap().trim_start_matches("https://").rsplit_once(':').unwrap();
        Self { host: host.to_owned(), port: port.to_owned() }
    }

    /// Starts a program on the node, with its output in the test bed's folder of logs.
    pub(super) fn start(&self, name: &str, command: &[&str]) -> Child {
        let log = File::create(log_path(name)).unwrap();
        // Without the script `on-node`: the child is the program itself, and ends with it.
        Command::new("nsenter")
            .args(["--net", "--mount", "--uts", "--target", &process(NODE), "--"])
            .args(command)
            .env("KUBERNETES_SERVICE_HOST", &self.host)
            .env("KUBERNETES_SERVICE_PORT", &self.port)
            .env("MULTUS_NODE_NAME", NODE)
            .env("NODE_NAME", NODE)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    }
}

impl Drop for InCluster {
    fn drop(&mut self) {
        let _failed = try_run("on-node", &[NODE, "rm", "-rf", SECRETS], "");
        for kind in ["clusterrole", "clusterrolebinding"] {
            let _failed = try_run("kubectl", &["delete", kind, ACCOUNT, "--ignore-not-found"], "");
        }
    }
}

/// The log of such a program.
pub(super) fn log_path(name: &str) -> String {
    format!("{}/logs/{NODE}.{name}.log", std::env::var("USNET_WORLD").unwrap())
}

fn apply_account(namespace: &str) {
    let rules = json!([
        {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "update", "watch"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    ]);
    let rbac = "rbac.authorization.k8s.io";
    let account = json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace});
    let metadata = json!({"name": ACCOUNT});
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": namespace}},
        {"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata, "subjects": [account],
         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": ACCOUNT}},
    ]}));
}
