//! Failures of a repository: an outage of the API server or the controller, objects that the CRD
//! does not know, other managers, two repositories, a pause, a removed finalizer.

use super::figures::{Figures, is_long};
use super::flux::Flux;
use super::system::System;
use super::tool::{Applied, Tool};
use crate::outages::uninstalled::install;
use crate::support::cluster::{apply, check, eventually, get, kubectl, run, timeout, try_run};
use crate::support::pods::{sleeping_pod, start, wait_running};
use crate::support::scene::{Scene, await_counted, remains, wait_ready};
use serde_json::{Value, json};
use std::time::Instant;

const PART: &str = "failures";

struct Repository {
    flux: Flux,
    scene: Scene,
    figures: Figures,
}

impl Repository {
    fn new() -> Self {
        let (mut flux, scene) = (Flux::start(), Scene::new(PART));
        flux.add(PART, &[]);
        Self { flux, scene, figures: Figures::new("Flux") }
    }

    fn network(&self, name: &str, mtu: i64) -> Value {
        self.scene.manifest(name, &json!({"bridge": {"mtu": mtu}, "port": {"type": "Veth"}}))
    }

    #[track_caller]
    fn commit(&mut self, what: &str, objects: &[Value]) -> Applied {
        let applied = self.flux.commit(PART, objects);
        self.figures.row(what, &applied, None);
        applied
    }

    #[track_caller]
    fn succeeds(&mut self, what: &str, objects: &[Value]) {
        let applied = self.commit(what, objects);
        assert!(applied.is_ready, "{what}: {}", applied.message);
    }

    fn api_server_is_away(&mut self) {
        let started = Instant::now();
        self.flux.offer(PART, &[self.network("failures-a", 1400)]);
        run("component", &["stop", "kube-apiserver"]);
        run("component", &["start", "kube-apiserver"]);
        eventually("the API server answers", || try_run("kubectl", &["get", "--raw", "/readyz"], ""));
        self.flux.await_ready(PART);
        wait_ready("failures-a");
        self.figures.seconds("the API server goes away during a sync", started.elapsed());
    }

    fn controller_is_away(&mut self) {
        kubectl(&["scale", "deployment/usnet-controller", "-n", "usnet-system", "--replicas=0"]);
        eventually("no controller runs", || {
            let pods =
                ["get", "pods", "-n", "usnet-system", "-l", "app.kubernetes.io/component=controller", "-o", "name"];
            let pods = kubectl(&pods);
            check(pods.is_empty(), pods)
        });
        let started = Instant::now();
        self.flux.offer(PART, &[self.network("failures-b", 1400)]);
        eventually("the other network is being deleted", || {
            let object = get(&["usn", "failures-a"]).unwrap_or_default();
            check(!object["metadata"]["deletionTimestamp"].is_null(), object.to_string())
        });
        kubectl(&["scale", "deployment/usnet-controller", "-n", "usnet-system", "--replicas=2"]);
        self.flux.await_ready(PART);
        eventually("the other network is gone", || check(get(&["usn", "failures-a"]).is_none(), "still there"));
        self.figures.seconds("one network for another while no controller runs", started.elapsed());
    }

    fn objects_are_newer_than_the_crd(&mut self) {
        let mut newer = self.network("failures-b", 1400);
        newer["spec"]["bridge"]["ofNextRelease"] = json!(true);
        let applied = self.commit("a field that the CRD does not have", &[newer]);
        assert!(!applied.is_ready && applied.message.contains("ofNextRelease"), "{applied:?}");
        wait_ready("failures-b");
    }

    fn another_manager_has_the_field(&mut self) {
        let other = self.network("failures-b", 1300).to_string();
        let conflict = try_run("kubectl", &["apply", "--server-side", "-f", "-"], &other).unwrap_err();
        assert!(conflict.contains("conflict") && conflict.contains(".spec.bridge"), "{conflict}");
        try_run("kubectl", &["apply", "--server-side", "--force-conflicts", "-f", "-"], &other).unwrap();
        self.flux.reconcile(PART);
        let objects = [self.network("failures-b", 1400)];
        self.succeeds("a field that another manager took", &objects);
        assert_eq!(get(&["usn", "failures-b"]).unwrap()["spec"]["bridge"]["mtu"], 1400);
    }

    fn pods_come_and_go_during_a_pause(&mut self) {
        self.flux.suspend(PART, true);
        start(&self.scene, &sleeping_pod(&self.scene, "paused", "failures-b"));
        await_counted("failures-b", 1);
        apply(&self.network("failures-b", 1350));
        self.scene.delete_pod("paused");
        await_counted("failures-b", 0);
        self.flux.suspend(PART, false);
        eventually("what was edited is back", || {
            let object = get(&["usn", "failures-b"]).unwrap();
            check(object["spec"]["bridge"]["mtu"] == 1400, object["spec"].to_string())
        });
        self.flux.await_ready(PART);
    }

    /// The one that applied it last has it. Neither can remove it while pods use it.
    fn two_repositories_have_the_network(&mut self) {
        self.flux.add("other", &[]);
        let network = self.network("failures-b", 1400);
        let applied = self.flux.commit("other", std::slice::from_ref(&network));
        self.figures.row("the same network in another repository", &applied, None);
        start(&self.scene, &sleeping_pod(&self.scene, "user", "failures-b"));
        await_counted("failures-b", 1);
        let uid = get(&["usn", "failures-b"]).unwrap()["metadata"]["uid"].clone();
        let applied = self.flux.commit("other", &[]);
        self.figures.row("and removed from it", &applied, None);
        assert!(!applied.is_ready && applied.message.contains("failures/user"), "{applied:?}");
        self.succeeds("in the first one it stays", &[network]);
        self.flux.await_ready("other");
        assert_eq!(get(&["usn", "failures-b"]).unwrap()["metadata"]["uid"], uid);
    }

    fn a_finalizer_is_taken_away(&mut self) {
        let drain = "usnet.dev/drain=failures-b";
        kubectl(&["annotate", "usn", "failures-b", drain]);
        kubectl(&["delete", "usn", "failures-b", "--wait=false"]);
        kubectl(&["patch", "usn", "failures-b", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
        self.flux.reconcile(PART);
        self.flux.await_ready(PART);
        wait_ready("failures-b");
        await_counted("failures-b", 1);
        start(&self.scene, &sleeping_pod(&self.scene, "later", "failures-b"));
        self.scene.delete_pods(["user", "later"]);
    }

    fn a_namespace_goes_with_its_network_and_pods(&mut self) {
        let other = Scene::new("failures-all");
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "failures-all", "labels": {"scene": "failures-all"}},
        });
        let network = other.manifest("failures-all", &json!({"port": {"type": "Veth"}}));
        let pod = sleeping_pod(&other, "user", "failures-all");
        self.succeeds("a namespace, its network and a pod", &[namespace, network, pod]);
        wait_running(&other, "user");
        await_counted("failures-all", 1);
        let started = Instant::now();
        self.commit("all of them removed", &[]);
        for object in ["usn/failures-all", "ns/failures-all"] {
            kubectl(&["wait", "--for=delete", object, timeout()]);
        }
        self.flux.await_ready(PART);
        self.figures.seconds("until they are gone", started.elapsed());
        assert_eq!(remains("failures-all"), Vec::<String>::new());
    }
}

#[test]
fn failures_of_a_repository_lose_nothing_and_are_reported() {
    if !is_long("failures around a repository") {
        return;
    }
    let mut repository = Repository::new();
    repository.api_server_is_away();
    repository.controller_is_away();
    repository.objects_are_newer_than_the_crd();
    repository.another_manager_has_the_field();
    repository.pods_come_and_go_during_a_pause();
    repository.two_repositories_have_the_network();
    repository.a_finalizer_is_taken_away();
    repository.a_namespace_goes_with_its_network_and_pods();
    for network in ["failures-a", "failures-b"] {
        eventually("nothing is left", || check(remains(network).is_empty(), remains(network).join(", ")));
    }
}

#[test]
fn networks_that_are_applied_before_the_crds_come_with_them() {
    if !is_long("networks before the CRDs") {
        return;
    }
    let _system = System::remove();
    let mut repository = Repository::new();
    let network = repository.network("failures-early", 1400);
    let applied = repository.commit("a network before the CRDs", &[network]);
    assert!(!applied.is_ready && applied.message.contains("no matches for kind"), "{applied:?}");
    let started = Instant::now();
    install();
    repository.flux.await_ready(PART);
    repository.figures.seconds("usnet installed by hand, until it is applied", started.elapsed());
    wait_ready("failures-early");
    repository.commit("removed", &[]);
    kubectl(&["wait", "--for=delete", "usn/failures-early", timeout()]);
}
