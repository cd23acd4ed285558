//! `config/components/prometheus`, applied to the running installation.

use crate::outages::uninstalled::installation;
use crate::support::cluster::{kubectl, succeed, timeout, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use usnet_release::chart::kustomize::objects;

/// Kinds of the Prometheus Operator, which the test bed does not have.
const OF_OPERATOR: [&str; 2] = ["ServiceMonitor", "PrometheusRule"];

/// The component. When this is dropped, agents listen where they did before.
pub(super) struct Component {
    /// The folder of its kustomization, and of what else the test writes.
    pub(super) folder: PathBuf,
    before: BTreeMap<String, Value>,
    /// What is different with the component.
    changed: BTreeMap<String, Value>,
}

impl Component {
    /// Applies it, and waits until agents run with it.
    pub(super) fn apply() -> Self {
        let folder = Path::new(&installation()).with_file_name("monitored");
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let component = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/components/prometheus");
        // kustomize accepts no absolute paths.
        let up: PathBuf = folder.components().skip(1).map(|_| Path::new("..")).collect();
        let component = up.join(component.canonicalize().unwrap().strip_prefix("/").unwrap());
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": ["../install"],
            "components": [component],
        });
        fs::write(folder.join("kustomization.yaml"), kustomization.to_string()).unwrap();
        let before = render(Path::new(&installation()));
        let mut changed = render(&folder);
        changed.retain(|name, object| before.get(name) != Some(object));
        let component = Self { folder, before, changed };
        let is_applied = |name: &&String| !OF_OPERATOR.iter().any(|kind| name.starts_with(kind));
        let applied = component.changed.iter().filter(|(name, _)| is_applied(name)).map(|(_, object)| object);
        apply_all(applied).map(drop).unwrap();
        kubectl(&["rollout", "status", "-n", NAMESPACE, "daemonset/usnet-agent", timeout()]);
        component
    }

    /// The objects of a kind of the Prometheus Operator.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let kind = format!("{kind}/");
        self.changed.iter().filter(move |(name, _)| name.starts_with(&kind)).map(|(_, object)| object)
    }

    /// An object by its kind and name.
    pub(super) fn object(&self, name: &str) -> &Value {
        &self.changed[name]
    }

    fn remove(&self) -> Result<(), String> {
        let is_changed = |name: &&String| self.changed.contains_key(*name);
        apply_all(self.before.iter().filter(|(name, _)| is_changed(name)).map(|(_, object)| object))?;
        // Until then agents ask the API server who reads their metrics.
        let rollout = ["rollout", "status", "-n", NAMESPACE, "daemonset/usnet-agent", timeout()];
        try_run("kubectl", &rollout, "")?;
        let is_new = |name: &str| !self.before.contains_key(name);
        let is_applied = |name: &str| !OF_OPERATOR.iter().any(|kind| name.starts_with(kind));
        let new = self.changed.iter().filter(|(name, _)| is_new(name) && is_applied(name)).map(|(_, object)| object);
        try_run("kubectl", &["delete", "--ignore-not-found", "-f", "-"], &list(new)).map(drop)
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            eprintln!("removing config/components/prometheus: {error}");
        }
    }
}

fn render(folder: &Path) -> BTreeMap<String, Value> {
    objects(&succeed(try_run("kubectl", &["kustomize", &folder.display().to_string()], ""))).unwrap()
}

fn apply_all<'a>(objects: impl Iterator<Item = &'a Value>) -> Result<String, String> {
    try_run("kubectl", &["apply", "-f", "-"], &list(objects))
}

fn list<'a>(objects: impl Iterator<Item = &'a Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()}).to_string()
}
