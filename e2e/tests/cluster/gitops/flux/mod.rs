//! Flux' kustomize-controller, with a Kustomization for each part of the repository.

mod archives;

use super::tool::{Applied, Tool};
use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run};
use archives::{Archives, Commit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Command};
use std::time::Instant;

const NAMESPACE: &str = "flux-system";
/// What it watches, by group. Its own schemas check what users write, which is no part of the test.
const KINDS: [(&str, &str, &str); 5] = [
    ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations"),
    ("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories"),
    ("source.toolkit.fluxcd.io", "OCIRepository", "ocirepositories"),
    ("source.toolkit.fluxcd.io", "Bucket", "buckets"),
    ("source.toolkit.fluxcd.io", "ExternalArtifact", "externalartifacts"),
];

pub(super) struct Flux {
    process: Child,
    parts: BTreeMap<String, Archives>,
}

impl Flux {
    pub(super) fn start() -> Self {
        KINDS.iter().for_each(|kind| apply(&definition(kind)));
        for (group, _, plural) in KINDS {
            kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.{group}"), timeout()]);
        }
        apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        let folder = std::env::var("USNET_WORLD").unwrap();
        let log = File::create(format!("{folder}/logs/kustomize-controller.log")).unwrap();
        let process = Command::new("kustomize-controller")
            .args(["--metrics-addr=0", "--health-addr=0", "--events-addr=", "--no-cross-namespace-refs=false"])
            .args(["--http-retry=2", "--requeue-dependency=2s"])
            .env("RUNTIME_NAMESPACE", NAMESPACE)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("kustomize-controller, which e2e/tools/build builds");
        Self { process, parts: BTreeMap::new() }
    }

    /// Commits these objects as the content of a folder, and waits for nothing; the commit.
    pub(super) fn offer(&mut self, part: &str, objects: &[Value]) -> String {
        let commit = self.parts.get_mut(part).unwrap().commit(objects);
        offer(part, &commit);
        commit.revision
    }

    /// Suspends or resumes a folder.
    pub(super) fn suspend(&self, part: &str, is_suspended: bool) {
        Self::set(part, &json!({"suspend": is_suspended}));
    }

    /// Requests a comparison; the value by which its end is recognized.
    fn request(part: &str) -> String {
        let requested = format!("{:?}", Instant::now());
        let annotation = format!("reconcile.fluxcd.io/requestedAt={requested}");
        kubectl(&["annotate", "kustomization", part, "-n", NAMESPACE, "--overwrite", &annotation]);
        requested
    }

    fn set(part: &str, spec: &Value) {
        let patch = json!({"spec": spec}).to_string();
        kubectl(&["patch", "kustomization", part, "-n", NAMESPACE, "--type=merge", "-p", &patch]);
    }

    /// Applies a folder with the rights of a service account.
    pub(super) fn act_as(&self, part: &str, service_account: &str) {
        Self::set(part, &json!({"serviceAccountName": service_account}));
    }

    /// Applies these objects once, and looks at them no more.
    #[track_caller]
    pub(super) fn apply_once(&mut self, part: &str, objects: &[Value]) -> Result<(), String> {
        if !self.parts.contains_key(part) {
            self.add(part, &[]);
        }
        Self::set(part, &json!({"suspend": false, "wait": false, "prune": false}));
        let applied = self.commit(part, objects);
        self.suspend(part, true);
        if applied.is_ready { Ok(()) } else { Err(applied.message) }
    }
}

impl Tool for Flux {
    fn name(&self) -> &'static str {
        "Flux"
    }

    fn add(&mut self, part: &str, depends_on: &[&str]) {
        let depends_on: Vec<Value> = depends_on.iter().map(|other| json!({"name": other})).collect();
        apply(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": part, "namespace": NAMESPACE},
            "spec": {"interval": "1m", "url": format!("https://git.example/{part}")},
        }));
        apply(&json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": part, "namespace": NAMESPACE},
            "spec": {
                "interval": "1m", "retryInterval": "2s", "timeout": "1m", "path": "./", "prune": true, "wait": true,
                "sourceRef": {"kind": "GitRepository", "name": part}, "dependsOn": depends_on,
                "deletionPolicy": "WaitForTermination",
            },
        }));
        self.parts.insert(part.to_owned(), Archives::new());
    }

    #[track_caller]
    fn commit(&mut self, part: &str, objects: &[Value]) -> Applied {
        let started = Instant::now();
        let revision = self.offer(part, objects);
        eventually("the commit is applied or has failed", || {
            let status = kustomization(part)["status"].clone();
            let ready = ready(&status).ok_or("no condition")?;
            let is_done = status["lastAttemptedRevision"] == revision.as_str() && ready["status"] != "Unknown";
            check(is_done, status.to_string())?;
            let message = ready["message"].as_str().unwrap_or_default().to_owned();
            Ok(Applied { is_ready: ready["status"] == "True", message, after: started.elapsed() })
        })
    }

    #[track_caller]
    fn await_ready(&self, part: &str) {
        eventually("the newest commit is applied", || {
            let status = kustomization(part)["status"].clone();
            let is_applied = status["lastAppliedRevision"] == status["lastAttemptedRevision"];
            let is_ready = ready(&status).is_some_and(|ready| ready["status"] == "True");
            check(is_applied && is_ready, status.to_string())
        });
    }

    fn reconcile(&self, part: &str) {
        let requested = Self::request(part);
        eventually("Flux has looked again", || {
            let status = kustomization(part)["status"].clone();
            check(status["lastHandledReconcileAt"] == requested.as_str(), status.to_string())
        });
    }

    #[track_caller]
    fn await_progressing(&self, part: &str) {
        Self::request(part);
        eventually("Flux waits for what is not healthy", || {
            let status = kustomization(part)["status"].clone();
            let ready = ready(&status).ok_or("no condition")?;
            assert_ne!(ready["status"], "False", "{status}");
            check(
                ready["status"] == "Unknown" && status.to_string().contains("Running health checks"),
                status.to_string(),
            )
        });
    }

    fn force(&self) -> (&'static str, &'static str) {
        ("kustomize.toolkit.fluxcd.io/force", "enabled")
    }

    fn remove(&mut self, part: &str) {
        kubectl(&["delete", "kustomization", part, "-n", NAMESPACE, "--wait=false"]);
    }

    fn is_gone(&self, part: &str) -> bool {
        get(&["kustomization", part, "-n", NAMESPACE]).is_none()
    }
}

/// Announces the newest commit, as source-controller does.
fn offer(part: &str, commit: &Commit) {
    let now = "2026-01-01T00:00:00Z";
    let status = json!({"status": {
        "observedGeneration": 1,
        "artifact": {
            "digest": commit.digest, "lastUpdateTime": now, "path": "unused", "revision": commit.revision, "url": commit.url,
        },
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored", "observedGeneration": 1,
            "lastTransitionTime": now,
        }],
    }});
    let patch = ["patch", "gitrepository", part, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"];
    kubectl(&[patch.as_slice(), &[&status.to_string()]].concat());
}

fn kustomization(part: &str) -> Value {
    get(&["kustomization", part, "-n", NAMESPACE]).unwrap()
}

fn ready(status: &Value) -> Option<&Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

fn definition((group, kind, plural): &(&str, &str, &str)) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

impl Drop for Flux {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _ended = self.process.wait();
        let release = r#"{"metadata":{"finalizers":null}}"#;
        for part in self.parts.keys() {
            let patch = ["patch", "kustomization", part, "-n", NAMESPACE, "--type=merge", "-p", release];
            let _gone = try_run("kubectl", &patch, "");
        }
        let definitions = KINDS.map(|(group, _, plural)| format!("crd/{plural}.{group}"));
        let mut delete = vec!["delete", "--ignore-not-found", timeout(), "ns/flux-system"];
        delete.extend(definitions.iter().map(String::as_str));
        if let Err(error) = try_run("kubectl", &delete, "") {
            eprintln!("cleaning up Flux: {error}");
        }
    }
}
