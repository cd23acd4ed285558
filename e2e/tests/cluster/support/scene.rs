//! A namespace with networks, which are deleted at the end of a test.

use crate::support::cluster::{
    NODES, TIMEOUT, apply, check, condition, eventually, get, kubectl, on_node, timeout, try_apply, try_run, vsctl,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The namespace and networks of one test.
pub(crate) struct Scene {
    /// The name of the namespace, and the prefix of the networks' names.
    pub(crate) name: String,
    networks: Mutex<Vec<String>>,
}

impl Scene {
    /// Creates a namespace with the label `scene=<name>`, after an earlier one of this name is
    /// deleted.
    pub(crate) fn new(name: &str) -> Self {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"scene": name}},
        });
        eventually("the namespace", || {
            let object: Value = serde_json::from_str(&try_apply(&namespace)?).map_err(|error| error.to_string())?;
            check(object["metadata"]["deletionTimestamp"].is_null(), "an earlier one is still being deleted")
        });
        eventually("the service account of pods", || {
            get(&["serviceaccount", "default", "-n", name]).map(drop).ok_or_else(|| "it does not exist".to_owned())
        });
        Self { name: name.to_owned(), networks: Mutex::default() }
    }

    /// Returns the manifest of a network for this namespace, with these fields in its spec.
    pub(crate) fn manifest(&self, network: &str, spec: &Value) -> Value {
        let mut whole = json!({
            "engine": "OVS",
            "namespaceSelector": {"matchLabels": {"scene": self.name}},
        });
        for (field, value) in spec.as_object().unwrap() {
            whole[field] = value.clone();
        }
        json!({"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": network}, "spec": whole})
    }

    /// Applies a network, which is deleted with the scene.
    #[track_caller]
    pub(crate) fn apply_network(&self, network: &str, spec: &Value) {
        self.networks.lock().unwrap().push(network.to_owned());
        apply(&self.manifest(network, spec));
    }

    /// Applies a network and waits for it with `kubectl wait`, as users do.
    #[track_caller]
    pub(crate) fn network(&self, network: &str, spec: &Value) {
        self.apply_network(network, spec);
        wait_ready(network);
    }

    /// Deletes a pod and waits for its end.
    #[track_caller]
    pub(crate) fn delete_pod(&self, pod: &str) {
        self.delete_pods([pod]);
    }

    /// Deletes pods together, because each takes three seconds.
    pub(crate) fn delete_pods<'p>(&'p self, pods: impl IntoIterator<Item = &'p str>) {
        let mut arguments = vec!["delete", "pod", "-n", &self.name, "--grace-period=1", timeout()];
        arguments.extend(pods);
        kubectl(&arguments);
    }

    /// Returns the messages of all events of a pod.
    pub(crate) fn events(&self, pod: &str) -> String {
        self.messages(&format!("involvedObject.name={pod}"))
    }

    /// Returns the messages of the events with these fields.
    fn messages(&self, selector: &str) -> String {
        let events = get(&["events", "-n", &self.name, "--field-selector", selector]).unwrap_or_default();
        let messages = events["items"].as_array().into_iter().flatten().filter_map(|event| event["message"].as_str());
        messages.collect::<Vec<_>>().join(" ")
    }

    /// Waits until events of a pod that does not start contain these words.
    #[track_caller]
    pub(crate) fn await_refusal(&self, pod: &str, words: &[&str]) {
        eventually("the pod's event", || {
            let events = self.events(pod);
            check(words.iter().all(|word| events.contains(word)), events)
        });
    }

    /// Waits for an event of this pod, selected as by `kubectl describe`, and returns its message.
    #[track_caller]
    pub(crate) fn await_event(&self, pod: &str, reason: &str) -> String {
        let uid = kubectl(&["get", "pod", pod, "-n", &self.name, "-o", "jsonpath={.metadata.uid}"]);
        let selector = format!("involvedObject.name={pod},involvedObject.uid={uid},reason={reason}");
        eventually("the event of the pod", || {
            let message = self.messages(&selector);
            if message.is_empty() { Err(format!("no event {reason}: {}", self.events(pod))) } else { Ok(message) }
        })
    }
}

/// Waits until the status of a network has this number of attachments.
#[track_caller]
pub(crate) fn await_counted(network: &str, count: i64) {
    eventually("the pods are counted", || {
        let status = get(&["usn", network]).unwrap()["status"].clone();
        check(status["attachments"] == count, status.to_string())
    });
}

/// Deletes networks or uplinks that pods have used just now, and that may be kept while pods use
/// them; waits until they are deleted.
pub(crate) fn delete_unused(arguments: &[&str]) -> Result<(), String> {
    let delete = [&["delete", "--ignore-not-found", timeout()], arguments].concat();
    let start = Instant::now();
    loop {
        match try_run("kubectl", &delete, "") {
            Err(error) if error.contains("usnet-networks-in-use") && start.elapsed() < TIMEOUT => {
                thread::sleep(Duration::from_millis(500));
            }
            result => return result.map(drop),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let quiet = |arguments: &[&str]| {
            if let Err(error) = try_run("kubectl", arguments, "") {
                eprintln!("cleaning up {}: {error}", self.name);
            }
        };
        quiet(&["delete", "pods", "--all", "-n", &self.name, "--grace-period=1", timeout()]);
        let networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        let networks: BTreeSet<&str> = networks.iter().map(String::as_str).collect();
        if !networks.is_empty() {
            let delete = ["usn"].into_iter().chain(networks).collect::<Vec<_>>();
            if let Err(error) = delete_unused(&delete) {
                eprintln!("cleaning up {}: {error}", self.name);
            }
        }
        // This does not wait, because Kubernetes needs at least 5 s to delete a namespace, and
        // scenes have different names.
        quiet(&["delete", "namespace", &self.name, "--ignore-not-found", "--wait=false"]);
    }
}

/// Waits for a network as the README describes. The controller may still have to create it from a
/// definition, and `kubectl wait` ends if there is none.
#[track_caller]
pub(crate) fn wait_ready(network: &str) {
    eventually("the network", || get(&["usn", network]).map(drop).ok_or_else(|| format!("there is no {network}")));
    kubectl(&["wait", "--for=condition=Ready", &format!("usn/{network}"), timeout()]);
}

/// The reason of a network on a node whose engine is not connected any more.
pub(crate) const ENGINE_GONE: &str = "EngineUnreachable";

/// Waits until a condition of a network has this status and reason, and returns its message.
#[track_caller]
pub(crate) fn await_condition(network: &str, kind: &str, status: &str, reason: &str) -> String {
    eventually(&format!("{kind}={status}/{reason} of {network}"), || {
        let object = get(&["usn", network]).ok_or("the network is gone")?;
        let observed = condition(&object, kind).ok_or_else(|| format!("no such condition: {}", object["status"]))?;
        check(observed["status"] == status && observed["reason"] == reason, object["status"].to_string())?;
        Ok(observed["message"].as_str().unwrap_or_default().to_owned())
    })
}

/// Returns the spec of the compiled network, if it exists.
#[track_caller]
pub(crate) fn compiled(network: &str) -> Option<Value> {
    Some(get(&["compilednetwork", network])?["spec"].take())
}

/// Returns the name of the newest agent pod of a node; empty if there is none.
pub(crate) fn agent_pod(node: &str) -> String {
    let agents = ["pods", "-n", "usnet-system", "-l", "app.kubernetes.io/component=agent", "--field-selector"];
    let of_node = format!("spec.nodeName={node}");
    let found = get(&[agents.as_slice(), &[&of_node]].concat()).unwrap_or_default();
    let text = |pod: &Value, key: &str| pod["metadata"][key].as_str().unwrap_or_default().to_owned();
    let pods = found["items"].as_array().into_iter().flatten();
    let newest = pods.max_by_key(|pod| text(pod, "creationTimestamp"));
    newest.map(|pod| text(pod, "name")).unwrap_or_default()
}

/// Returns the log of the agent of a node.
pub(crate) fn agent_log(node: &str) -> String {
    kubectl(&["logs", &agent_pod(node), "-n", "usnet-system"])
}

/// Returns what usnet has left of a network on any node: bridges, ports, records and files.
pub(crate) fn remains(network: &str) -> Vec<String> {
    let mut found = Vec::new();
    for node in NODES {
        let marked = format!("external_ids:usnet.dev/network={network}");
        for table in ["Bridge", "Port"] {
            let rows = vsctl(node, &["--bare", "--columns=name", "find", table, &marked]);
            found.extend(rows.split_whitespace().map(|row| format!("{node}: {table} {row}")));
        }
        let files = on_node(
            node,
            &[
                "sh",
                "-c",
                &format!("grep -ls '\"{network}\"' /var/lib/usnet/attachments/* /run/usnet/networks/* || true"),
            ],
        );
        found.extend(files.lines().map(|file| format!("{node}: {file}")));
    }
    found
}
