//! Argo CD's application controller and repository server with Debian's redis, and an Application
//! for each part of the repository.
//!
//! - [`settings`]: the objects that it reads from its namespace;
//! - [`application`]: an Application and its state;
//! - [`repository`]: a git repository.

mod application;
mod repository;
mod settings;

use super::tool::{Applied, Tool};
use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run};
use repository::Repository;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::time::Instant;

const NAMESPACE: &str = "argocd";
const REDIS: &str = "127.0.0.1:6391";
const REPO_SERVER: &str = "127.0.0.1:9821";

/// The method by which an Application applies objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// The default method.
    ClientSide,
    /// With the option `ServerSideApply=true`.
    ServerSide,
}

pub(super) struct Argo {
    mode: Mode,
    processes: Vec<Child>,
    programs: tempfile::TempDir,
    repository: Repository,
    parts: BTreeSet<String>,
}

impl Argo {
    /// None if its programs are not there.
    pub(super) fn start(mode: Mode) -> Option<Self> {
        for (program, asked) in [("argo", "--help"), ("redis-server", "--version"), ("git", "--version")] {
            if let Err(error) = try_run(program, &[asked], "") {
                println!("SKIPPED: Argo CD: {error}; `make gitops` runs this");
                return None;
            }
        }
        settings::KINDS.into_iter().for_each(|kind| apply(&settings::definition(kind)));
        for (_, plural) in settings::KINDS {
            kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.argoproj.io"), timeout()]);
        }
        settings::objects().iter().for_each(apply);
        let (programs, repository) = (verifier(), Repository::new());
        let mut argo = Self { mode, processes: Vec::new(), programs, repository, parts: BTreeSet::new() };
        argo.start_processes();
        Some(argo)
    }

    fn start_processes(&mut self) {
        let redis = ["--port", "6391", "--bind", "127.0.0.1", "--save", ""];
        self.start_process("redis-server", "redis", &redis);
        await_listener(REDIS);
        let repo_server = [
            "repo-server",
            "--redis",
            REDIS,
            "--address",
            "127.0.0.1",
            "--port",
            "9821",
            "--metrics-port",
            "9822",
            "--disable-tls",
            "--client-ca-path",
            "",
        ];
        self.start_process("argo", "argo-repo-server", &repo_server);
        await_listener(REPO_SERVER);
        let controller = [
            "application-controller",
            "--redis",
            REDIS,
            "--repo-server",
            REPO_SERVER,
            "--repo-server-plaintext",
            "--namespace",
            NAMESPACE,
            "--metrics-port",
            "9823",
            "--app-resync",
            "20",
            "--persist-resource-health",
        ];
        self.start_process("argo", "argo-application-controller", &controller);
    }

    /// Applies these objects once, in this way, and looks at them no more.
    #[track_caller]
    pub(super) fn apply_once(&mut self, mode: Mode, part: &str, objects: &[Value]) -> Result<(), String> {
        let commit = self.repository.commit(part, objects);
        if self.parts.insert(part.to_owned()) {
            apply(&application::manual(part, &self.repository.url()));
        }
        self.reconcile(part);
        let operation = application::operation(mode, &commit).to_string();
        kubectl(&["patch", "application", part, "-n", NAMESPACE, "--type=merge", "-p", &operation]);
        eventually("the commit is applied", || {
            let application = application(part);
            let state = &application["status"]["operationState"];
            let is_of_commit = state["operation"]["sync"]["revision"] == commit.as_str();
            match state["phase"].as_str() {
                Some("Succeeded") if is_of_commit => Ok(Ok(())),
                Some("Failed" | "Error") if is_of_commit => Ok(Err(application::message(&application))),
                _ => Err(state.to_string()),
            }
        })
    }

    fn start_process(&mut self, program: &str, name: &str, arguments: &[&str]) {
        let folder = std::env::var("USNET_WORLD").unwrap();
        let log = File::create(format!("{folder}/logs/{name}.log")).unwrap();
        let path = format!("{}:{}", self.programs.path().display(), std::env::var("PATH").unwrap());
        let child = Command::new(program)
            .args(arguments)
            .envs([("ARGOCD_GPG_ENABLED", "false"), ("ARGOCD_FAKE_IN_CLUSTER", "true"), ("PATH", &path)])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.processes.push(child.unwrap());
    }

    /// Makes it compare the repository with the cluster now, as a webhook does.
    fn refresh(part: &str) {
        let annotation = format!("{}=hard", application::REFRESH);
        kubectl(&["annotate", "application", part, "-n", NAMESPACE, "--overwrite", &annotation]);
    }
}

/// The program by which the repository server has git verify a signature, which Argo CD's image has
/// beside it: commits of tests have none.
fn verifier() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("git-verify-wrapper.sh");
    fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn await_listener(address: &str) {
    eventually(&format!("something listens on {address}"), || {
        TcpStream::connect(address).map(drop).map_err(|error| error.to_string())
    });
}

fn application(part: &str) -> Value {
    get(&["application", part, "-n", NAMESPACE]).unwrap()
}

impl Tool for Argo {
    fn name(&self) -> &'static str {
        match self.mode {
            Mode::ClientSide => "Argo CD",
            Mode::ServerSide => "Argo CD, server-side",
        }
    }

    /// An Application depends on no other one.
    fn add(&mut self, part: &str, _depends_on: &[&str]) {
        self.repository.commit(part, &[]);
        apply(&application::manifest(self.mode, part, &self.repository.url()));
        self.parts.insert(part.to_owned());
    }

    #[track_caller]
    fn commit(&mut self, part: &str, objects: &[Value]) -> Applied {
        let commit = self.repository.commit(part, objects);
        let started = Instant::now();
        Self::refresh(part);
        eventually("the commit is applied or has failed", || {
            let application = application(part);
            let is_ready =
                application::ended(&application, &commit).ok_or_else(|| application["status"].to_string())?;
            Ok(Applied { is_ready, message: application::message(&application), after: started.elapsed() })
        })
    }

    #[track_caller]
    fn await_ready(&self, part: &str) {
        eventually("the newest commit is applied", || {
            let application = application(part);
            let status = &application["status"];
            let is_ready = status["sync"]["status"] == "Synced" && status["health"]["status"] == "Healthy";
            check(is_ready, status.to_string())
        });
    }

    fn reconcile(&self, part: &str) {
        Self::refresh(part);
        eventually("Argo CD has looked again", || {
            let application = application(part);
            check(application::is_refreshed(&application), application["metadata"].to_string())
        });
    }

    #[track_caller]
    fn await_progressing(&self, part: &str) {
        eventually("Argo CD waits for what is not healthy", || {
            let health = application(part)["status"]["health"]["status"].take();
            assert_ne!(health, "Degraded");
            check(health == "Progressing", health.to_string())
        });
    }

    fn force(&self) -> (&'static str, &'static str) {
        ("argocd.argoproj.io/sync-options", "Force=true,Replace=true")
    }

    fn remove(&mut self, part: &str) {
        kubectl(&["delete", "application", part, "-n", NAMESPACE, "--wait=false"]);
    }

    fn is_gone(&self, part: &str) -> bool {
        get(&["application", part, "-n", NAMESPACE]).is_none()
    }
}

impl Drop for Argo {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ended = process.kill();
            let _ended = process.wait();
        }
        let release = json!({"metadata": {"finalizers": null}}).to_string();
        for part in &self.parts {
            let patch = ["patch", "application", part, "-n", NAMESPACE, "--type=merge", "-p", &release];
            let _gone = try_run("kubectl", &patch, "");
        }
        let definitions = settings::KINDS.map(|(_, plural)| format!("crd/{plural}.argoproj.io"));
        let mut delete = vec!["delete", "--ignore-not-found", timeout(), "ns/argocd"];
        delete.extend(definitions.iter().map(String::as_str));
        if let Err(error) = try_run("kubectl", &delete, "") {
            eprintln!("cleaning up Argo CD: {error}");
        }
    }
}
