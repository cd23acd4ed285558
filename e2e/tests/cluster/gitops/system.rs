//! usnet as the test bed has installed it: its objects, its removal, and what is left of it.

use crate::outages::uninstalled::installation;
use crate::support::cluster::{NODES, eventually, kubectl, timeout, try_run, vsctl};
use serde::Deserialize;
use serde_json::{Value, json};

/// The part of the name of every cluster-scoped object of usnet.
const KINDS: &str =
    "crd,validatingadmissionpolicy,validatingadmissionpolicybinding,clusterrole,clusterrolebinding,namespace";

/// usnet's objects, which are installed again when this is dropped.
pub(super) struct System {
    objects: Vec<Value>,
}

impl System {
    /// Removes usnet, which has no networks then.
    pub(super) fn remove() -> Self {
        let text = kubectl(&["kustomize", &installation()]);
        let objects = serde_yaml::Deserializer::from_str(&text)
            .map(|document| Value::deserialize(document).unwrap())
            .filter(|object| !object.is_null())
            .collect();
        let system = Self { objects };
        kubectl(&["delete", "usn,usu", "--all", timeout()]);
        kubectl(&["delete", "-k", &installation(), timeout()]);
        let left = leftovers();
        assert!(left.is_empty(), "{left:?}");
        system
    }

    /// The objects, unmodified.
    pub(super) fn objects(&self) -> Vec<Value> {
        self.objects.clone()
    }

    /// The objects of an older release: other pods, and a CRD without one of its columns.
    pub(super) fn older_objects(&self) -> Vec<Value> {
        let mut objects = self.objects();
        for object in &mut objects {
            match object["kind"].as_str().unwrap() {
                "Deployment" | "DaemonSet" => {
                    object["spec"]["template"]["metadata"]["annotations"]["example.com/release"] = json!("older");
                }
                "CustomResourceDefinition" => {
                    object["spec"]["versions"][0]["additionalPrinterColumns"].as_array_mut().map(Vec::pop);
                }
                _ => {}
            }
        }
        objects
    }

    /// The CRDs, which tools of GitOps leave.
    pub(super) fn delete_crds() {
        let text = kubectl(&["get", "crd", "-o", "name"]);
        let mut delete = vec!["delete", timeout()];
        delete.extend(text.lines().filter(|name| name.ends_with(".usnet.dev")));
        if delete.len() > 2 {
            kubectl(&delete);
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let restored = try_run("kubectl", &["apply", "-k", &installation()], "");
        let wait = ["rollout", "status", "-n", "usnet-system", timeout(), "daemonset/usnet-agent"];
        if let Err(error) = restored.and_then(|_| try_run("kubectl", &wait, "")) {
            eprintln!("installing usnet again: {error}");
        }
    }
}

/// Returns the objects of usnet in the API, and what nodes have of its networks.
pub(super) fn leftovers() -> Vec<String> {
    let all = eventually("the API server answers", || try_run("kubectl", &["get", KINDS, "-o", "name"], ""));
    let mut left: Vec<String> = all.lines().filter(|name| name.contains("usnet")).map(str::to_owned).collect();
    let networks = try_run("kubectl", &["get", "usn,usu,ucn", "-o", "name"], "").unwrap_or_default();
    left.extend(networks.lines().map(str::to_owned));
    for node in NODES {
        for table in ["Bridge", "Port"] {
            let rows = vsctl(node, &["--format=json", "--columns=name,external_ids", "list", table]);
            let rows: Value = serde_json::from_str(&rows).unwrap();
            let rows = rows["data"].as_array().unwrap().iter().map(Value::to_string);
            left.extend(rows.filter(|row| row.contains("usnet.dev/")).map(|row| format!("{node}: {table} {row}")));
        }
    }
    left
}
