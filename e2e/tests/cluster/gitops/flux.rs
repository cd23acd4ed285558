//! Flux' kustomize-controller with one Kustomization, until it is dropped.

use super::repository::{Commit, Repository};
use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run};
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const NAMESPACE: &str = "flux-system";
const NAME: &str = "networks";
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
    repository: Repository,
}

/// How a commit ended.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) is_ready: bool,
    pub(super) message: String,
    pub(super) after: Duration,
}

impl Flux {
    pub(super) fn start() -> Self {
        KINDS.iter().for_each(|kind| apply(&definition(kind)));
        for (group, _, plural) in KINDS {
            kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.{group}"), timeout()]);
        }
        apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        apply(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {"interval": "1m", "url": "https://git.example/networks"},
        }));
        apply(&json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "interval": "1m", "retryInterval": "2s", "timeout": "1m", "path": "./", "prune": true, "wait": true,
                "sourceRef": {"kind": "GitRepository", "name": NAME},
            },
        }));
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
        Self { process, repository: Repository::new() }
    }

    /// Commits these objects, and waits until Flux has applied the commit or failed with it.
    #[track_caller]
    pub(super) fn commit(&mut self, objects: &[Value]) -> Applied {
        let commit = self.repository.commit(objects);
        let started = Instant::now();
        offer(&commit);
        eventually("the commit is applied or has failed", || {
            let status = kustomization()["status"].clone();
            let ready = ready(&status).ok_or("no condition")?;
            let is_done = status["lastAttemptedRevision"] == commit.revision.as_str() && ready["status"] != "Unknown";
            check(is_done, status.to_string())?;
            let message = ready["message"].as_str().unwrap_or_default().to_owned();
            Ok(Applied { is_ready: ready["status"] == "True", message, after: started.elapsed() })
        })
    }

    /// Waits until the newest commit is applied.
    pub(super) fn await_ready(&self) {
        eventually("the newest commit is applied", || {
            let status = kustomization()["status"].clone();
            let is_applied = status["lastAppliedRevision"] == status["lastAttemptedRevision"];
            let is_ready = ready(&status).is_some_and(|ready| ready["status"] == "True");
            check(is_applied && is_ready, status.to_string())
        });
    }

    /// As an interval later.
    pub(super) fn reconcile(&self) {
        let requested = format!("{:?}", Instant::now());
        let annotation = format!("reconcile.fluxcd.io/requestedAt={requested}");
        kubectl(&["annotate", "kustomization", NAME, "-n", NAMESPACE, "--overwrite", &annotation]);
        eventually("Flux has looked again", || {
            let status = kustomization()["status"].clone();
            check(status["lastHandledReconcileAt"] == requested.as_str(), status.to_string())
        });
    }

    /// Whether an object that cannot be changed is deleted and created again.
    pub(super) fn set_force(&self, force: bool) {
        let patch = json!({"spec": {"force": force}}).to_string();
        kubectl(&["patch", "kustomization", NAME, "-n", NAMESPACE, "--type=merge", "-p", &patch]);
    }
}

/// Says what the newest commit is, as source-controller does.
fn offer(commit: &Commit) {
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
    let patch = ["patch", "gitrepository", NAME, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"];
    kubectl(&[patch.as_slice(), &[&status.to_string()]].concat());
}

fn kustomization() -> Value {
    get(&["kustomization", NAME, "-n", NAMESPACE]).unwrap()
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
        let patch = ["patch", "kustomization", NAME, "-n", NAMESPACE, "--type=merge", "-p", release];
        let _gone = try_run("kubectl", &patch, "");
        let definitions = KINDS.map(|(group, _, plural)| format!("crd/{plural}.{group}"));
        let mut delete = vec!["delete", "--ignore-not-found", timeout(), "ns/flux-system"];
        delete.extend(definitions.iter().map(String::as_str));
        if let Err(error) = try_run("kubectl", &delete, "") {
            eprintln!("cleaning up Flux: {error}");
        }
    }
}
