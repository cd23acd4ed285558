//! Engines that usnet runs: a node without an engine gets one, updates, and what is set up wrongly.

mod bare_node;
mod guest;
mod guest_node;
mod node;
mod traffic;
mod updates;
mod vpp;
mod wrong;

use crate::support::cluster::{apply, check, condition, eventually, eventually_within, get, kubectl, timeout, try_run};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use usnet_e2e::kubernetes::images::names::OPENVSWITCH_IMAGE;

/// A UserspaceEngine, which is deleted with this.
struct Engine(&'static str);

impl Engine {
    /// Applies an object for the nodes with its name as a label; `changes` are fields of its spec.
    fn apply(name: &'static str, changes: &Value) -> Self {
        apply(&manifest(name, changes));
        Self(name)
    }

    fn change(&self, changes: &Value) {
        apply(&manifest(self.0, changes));
    }

    fn get(&self) -> Value {
        get(&["userspaceengine", self.0]).unwrap()
    }

    /// Waits for a condition of the current generation, and returns its message.
    #[track_caller]
    fn await_condition(&self, kind: &str, status: &str, reason: &str) -> String {
        self.await_condition_within(Duration::from_secs(120), kind, status, reason)
    }

    #[track_caller]
    fn await_condition_within(&self, limit: Duration, kind: &str, status: &str, reason: &str) -> String {
        eventually_within(limit, &format!("{kind} {status} {reason} of engine {}", self.0), || {
            let object = self.get();
            let found = condition(&object, kind).ok_or_else(|| object["status"].to_string())?;
            let is_current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            check(is_current && found["status"] == status && found["reason"] == reason, object["status"].to_string())?;
            Ok(found["message"].as_str().unwrap().to_owned())
        })
    }

    #[track_caller]
    fn await_ready(&self) {
        self.await_condition("Ready", "True", "EngineRunning");
    }

    fn delete(&self) {
        kubectl(&["delete", "userspaceengine", self.0, "--ignore-not-found", timeout()]);
    }
}

impl Drop for Engine {
    /// After a failure pods may be attached, and a wait for their end must not hide the failure.
    fn drop(&mut self) {
        let _it_may_be_deleted =
            try_run("kubectl", &["delete", "userspaceengine", self.0, "--ignore-not-found", "--wait=false"], "");
        if thread::panicking() {
            let patch = ["--type=merge", "--patch", r#"{"metadata": {"finalizers": null}}"#];
            let _ = try_run("kubectl", &[&["patch", "userspaceengine", self.0][..], &patch].concat(), "");
            let _ = try_run("kubectl", &["delete", "daemonset", "--all", "-n", "usnet-engines"], "");
            return;
        }
        eventually("the engine is deleted", || {
            let object = get(&["userspaceengine", self.0]);
            check(object.is_none(), format!("{object:?}"))
        });
    }
}

fn manifest(name: &str, changes: &Value) -> Value {
    let mut spec = json!({
        "engine": "OVS", "image": OPENVSWITCH_IMAGE, "nodeSelector": {"matchLabels": {name: "yes"}},
        "memory": {"packets": "512Mi", "process": "512Mi"},
    });
    for (field, value) in changes.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceEngine", "metadata": {"name": name}, "spec": spec})
}

/// Whether this is the long form, `make engines`.
fn is_long() -> bool {
    std::env::var_os("USNET_ENGINES_LONG").is_some()
}

/// The pod of an engine on a node.
fn pod_on(engine: &str, node: &str) -> Option<Value> {
    let selector = format!("usnet.dev/userspace-engine={engine}");
    // None where there are no pods.
    let pods = get(&["pods", "-n", "usnet-engines", "-l", &selector])?;
    let is_there = |pod: &&Value| pod["spec"]["nodeName"] == node && pod["metadata"]["deletionTimestamp"].is_null();
    pods["items"].as_array().unwrap().iter().find(is_there).cloned()
}
