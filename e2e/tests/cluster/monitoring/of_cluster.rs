//! What is wrong in the cluster, each until it is dropped.

use super::UPLINK;
use crate::support::cluster::{apply, check, eventually, kubectl, timeout, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::uplinks::nowhere;
use serde_json::{Value, json};
use std::net::TcpListener;

fn quiet(arguments: &[&str]) {
    if let Err(error) = try_run("kubectl", arguments, "") {
        eprintln!("{error}");
    }
}

/// A Node without a machine, for which the DaemonSet of the agents has a pod that never runs.
pub(super) struct NodeWithoutAgent;

const JOINED: &str = "monitored-joined";

impl NodeWithoutAgent {
    pub(super) fn join() -> Self {
        let joined = Self;
        apply(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": JOINED}}));
        joined
    }
}

impl Drop for NodeWithoutAgent {
    fn drop(&mut self) {
        quiet(&["delete", "node", JOINED, "--ignore-not-found", timeout()]);
        // The scheduler never bound it to the node, whose end it does not share.
        let pending = ["--field-selector=status.phase=Pending", "-l", "app.kubernetes.io/component=agent"];
        quiet(&[&["delete", "pods", "-n", NAMESPACE, "--force"], &pending[..]].concat());
    }
}

/// A change of a node that its agent has to report.
pub(super) struct ChangedNode(&'static str);

impl ChangedNode {
    pub(super) fn label(node: &'static str) -> Self {
        kubectl(&["label", "node", node, "monitored=changed", "--overwrite"]);
        Self(node)
    }
}

impl Drop for ChangedNode {
    fn drop(&mut self) {
        quiet(&["label", "node", self.0, "monitored-"]);
    }
}

/// An admission webhook for what controllers write of uplinks, which does not answer, and uplinks
/// whose writes are pending because of it.
pub(super) struct SilentWebhook {
    /// Its connections are accepted by the kernel and by nothing else.
    _listener: TcpListener,
    uplinks: Vec<String>,
}

const WEBHOOK: &str = "test-silent";
const CONTROLLER: &str = "system:serviceaccount:usnet-system:usnet-controller";
/// More than the 16 requests that controllers send at a time at first.
const UPLINKS: usize = 40;

impl SilentWebhook {
    pub(super) fn create() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let uplinks = (0..UPLINKS).map(|number| format!("monitored-{number:02}"));
        let webhook = Self { _listener: listener, uplinks: uplinks.collect() };
        apply(&configuration(&url));
        let patch = ["patch", "usu", UPLINK, "--type=merge", "--patch={}", "--dry-run=server", "--request-timeout=1s"];
        eventually("the webhook is called", || {
            let answer = try_run("kubectl", &[&patch[..], &["--as", CONTROLLER]].concat(), "");
            check(answer.is_err(), "it is not called")
        });
        let items: Vec<Value> = webhook.uplinks.iter().map(|name| nowhere(name, &["8"])).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        try_run("kubectl", &["apply", "-f", "-"], &list).unwrap();
        webhook
    }
}

fn configuration(url: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK},
        "webhooks": [{
            "name": "silent.usnet.dev", "clientConfig": {"url": url}, "timeoutSeconds": 30,
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "matchConditions": [{
                "name": "of-controllers", "expression": format!("request.userInfo.username == '{CONTROLLER}'"),
            }],
            "rules": [{
                "apiGroups": ["usnet.dev"], "apiVersions": ["*"], "operations": ["UPDATE"],
                "resources": ["userspaceuplinks", "userspaceuplinks/status"],
            }],
        }],
    })
}

impl Drop for SilentWebhook {
    fn drop(&mut self) {
        quiet(&["delete", "validatingwebhookconfiguration", WEBHOOK, "--ignore-not-found", timeout()]);
        let names: Vec<&str> = self.uplinks.iter().map(String::as_str).collect();
        quiet(&[&["delete", "usu", "--ignore-not-found", timeout()], &names[..]].concat());
    }
}
