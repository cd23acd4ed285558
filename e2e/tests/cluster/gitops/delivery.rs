//! Operations of GitOps users on their networks, under traffic: take over, change, remove, and
//! revert.

use super::argo::{Argo, Mode};
use super::figures::{Figures, idle_minutes};
use super::flux::Flux;
use super::tool::Tool;
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, run, vsctl};
use crate::support::pods::{NODE, sleeping_pod, start, wait_running};
use crate::support::scene::{ENGINE_GONE, Scene, await_condition, await_counted, wait_ready};
use crate::support::station::Station;
use crate::support::stream::Stream;
use crate::support::uplinks::{Uplink, nowhere};
use serde_json::{Value, json};
use std::time::Instant;
use usnet_crds::manifests::crds;

const MTU: i64 = 1400;
const PART: &str = "networks";
/// A bridge that is not owned by usnet.
const FOREIGN: &str = "br-foreign";

fn network(scene: &Scene, name: &str, mtu: i64) -> Value {
    let spec = json!({
        "bridge": {"name": "br-gitops", "mtu": mtu}, "port": {"type": "Veth", "rateLimit": {}},
        "topology": {"type": "Overlay", "overlay": {}}, "resourceClaims": {},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.171.0.0/16"}]], "nodePrefix": {"ipv4": 24}},
    });
    scene.manifest(name, &spec)
}

/// What must stay as it is: which object it is, what it says, whether it works, and its ports.
fn identity(name: &str) -> (Value, Value, bool, String) {
    let object = get(&["usn", name]).unwrap();
    let is_ready = condition(&object, "Ready").is_some_and(|ready| ready["status"] == "True");
    let ports = ["--columns=name,_uuid", "find", "Port", &format!("external_ids:usnet.dev/network={name}")];
    (object["metadata"]["uid"].clone(), object["metadata"]["generation"].clone(), is_ready, vsctl(NODE, &ports))
}

/// A repository with a network, an uplink and two pods that send to each other, which a tool
/// applies.
struct Delivery {
    tool: Box<dyn Tool>,
    scene: Scene,
    /// All objects except the network.
    rest: Vec<Value>,
    figures: Figures,
    stream: Option<Stream>,
}

/// The message of a deletion that is refused.
const IN_USE: [&str; 2] = ["gitops/user", "usnet.dev/drain=gitops"];

impl Delivery {
    fn with(&self, network: Value) -> Vec<Value> {
        [network].into_iter().chain(self.rest.clone()).collect()
    }

    fn all(&self) -> Vec<Value> {
        self.with(network(&self.scene, "gitops", MTU))
    }

    /// Commits, and counts what the stream loses until that has ended.
    #[track_caller]
    fn commit(&mut self, what: &str, objects: &[Value]) -> super::tool::Applied {
        let first = self.stream.as_ref().map(Stream::begin);
        let applied = self.tool.commit(PART, objects);
        let sample = self.stream.as_ref().zip(first).map(|(stream, first)| stream.end(first));
        self.figures.row(what, &applied, sample);
        assert!(sample.is_none_or(|sample| sample.lost == Some(0)), "{what}: {sample:?}");
        applied
    }

    #[track_caller]
    fn succeeds(&mut self, what: &str, objects: &[Value]) {
        let applied = self.commit(what, objects);
        assert!(applied.is_ready, "{what}: {}", applied.message);
    }

    /// The commit fails with these words, and the network that pods use is as before.
    #[track_caller]
    fn fails(&mut self, what: &str, words: &[&str], objects: &[Value]) {
        let before = identity("gitops");
        let applied = self.commit(what, objects);
        let has_words = words.iter().all(|word| applied.message.contains(word));
        assert!(!applied.is_ready && has_words, "{what}: {applied:?}");
        assert_eq!(identity("gitops"), before, "{what}");
    }

    fn takes_over_and_settles(&mut self) {
        let before = identity("gitops");
        assert!(before.2, "it is Ready");
        let all = self.all();
        self.succeeds("what kubectl has applied is taken over", &all);
        self.tool.reconcile(PART);
        self.tool.reconcile(PART);
        let after = identity("gitops");
        assert_eq!((&after.0, &after.1), (&before.0, &before.1), "nothing changes");
    }

    fn begins_traffic(&mut self) {
        for pod in ["user", "other"] {
            wait_running(&self.scene, pod);
        }
        await_counted("gitops", 2);
        let [from, to] = ["user", "other"].map(|pod| Station::of_pod(&self.scene, pod));
        self.stream = Some(Stream::start("OVS", &from, &to));
        self.figures.idle("gitops", idle_minutes());
    }

    fn changes(&mut self) {
        let changed = self.with(network(&self.scene, "gitops", MTU - 50));
        self.succeeds("another MTU", &changed);
        let all = self.all();
        self.succeeds("and back", &all);
        self.fails("an MTU that the API refuses", &["MTU"], &self.with(network(&self.scene, "gitops", 100)));
        vsctl(
            NODE,
            &["--no-wait", "--may-exist", "add-br", FOREIGN, "--", "set", "bridge", FOREIGN, "datapath_type=netdev"],
        );
        let spec = json!({"bridge": {"name": FOREIGN}});
        let taken = [self.all(), vec![self.scene.manifest("gitops-taken", &spec)]].concat();
        // Flux says which network failed, and Argo CD why as well.
        self.fails("a bridge that is not owned by usnet", &["gitops-taken"], &taken);
        vsctl(NODE, &["--no-wait", "del-br", FOREIGN]);
        let started = Instant::now();
        self.tool.await_ready(PART);
        self.figures.seconds("that bridge is removed by hand", started.elapsed());
        self.succeeds("and the network from the repository", &all);
        eventually("it is gone", || check(get(&["usn", "gitops-taken"]).is_none(), "still there"));
    }

    /// What is on its way back, and what concerns one namespace, is no failure of the repository.
    fn others_fail(&self) {
        run("component", &["stop", "ovsdb-server", "node-b"]);
        await_condition("gitops", "Ready", "False", ENGINE_GONE);
        self.tool.await_progressing(PART);
        run("component", &["start", "ovsdb-server", "node-b"]);
        wait_ready("gitops");

        let tenant = Scene::new("gitops-refuses");
        apply(&json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "definitions", "namespace": tenant.name},
            "spec": {"hard": {"count/network-attachment-definitions.k8s.cni.cncf.io": "0"}},
        }));
        kubectl(&["label", "namespace", &tenant.name, "scene=gitops", "--overwrite"]);
        await_condition("gitops", "DefinitionsReady", "False", "DefinitionRefused");
        self.tool.reconcile(PART);
        self.tool.await_ready(PART);
    }

    fn mistakes_are_reverted(&mut self) {
        let (all, rest) = (self.all(), self.rest.clone());
        self.fails("a network in use is removed", &IN_USE, &rest);
        let started = Instant::now();
        start(&self.scene, &sleeping_pod(&self.scene, "meanwhile", "gitops"));
        self.figures.seconds("a pod starts meanwhile", started.elapsed());
        self.succeeds("and put back", &all);
        let started = Instant::now();
        start(&self.scene, &sleeping_pod(&self.scene, "late", "gitops"));
        self.figures.seconds("a pod starts then", started.elapsed());
        let mut forced = network(&self.scene, "gitops", 100);
        let (annotation, value) = self.tool.force();
        forced["metadata"]["annotations"][annotation] = json!(value);
        self.fails("an MTU that is refused, with force", &IN_USE, &self.with(forced));
        self.fails("a rename that keeps the bridge", &IN_USE, &self.with(network(&self.scene, "renamed", MTU)));
        self.succeeds("and taken back", &all);
        let with_crds: Vec<Value> = crds().unwrap().into_iter().chain(all.clone()).collect();
        self.succeeds("the CRDs of usnet are in the repository", &with_crds);
        self.succeeds("and are removed from it", &all);
        let crd = get(&["crd", "userspacenetworks.usnet.dev"]).unwrap();
        assert!(crd["metadata"]["deletionTimestamp"].is_null(), "{crd}");
    }

    /// The procedure of the page on GitOps.
    fn is_renamed_in_three_commits(&mut self) {
        let mut renamed = network(&self.scene, "renamed", MTU);
        renamed["spec"]["bridge"] = json!({"name": "br-renamed", "mtu": MTU});
        renamed["spec"]["ipam"]["ranges"] = json!([[{"subnet": "10.172.0.0/16"}]]);
        let mut both = self.all();
        both.push(renamed.clone());
        self.succeeds("a network with another name and bridge beside it", &both);
        self.stream = None;
        let moved: Vec<Value> =
            ["user", "other"].map(|pod| sleeping_pod(&self.scene, &format!("{pod}-2"), "renamed")).into();
        let uplink = self.rest[0].clone();
        self.scene.delete_pods(["meanwhile", "late"]);
        let pods_moved: Vec<Value> =
            [vec![network(&self.scene, "gitops", MTU), renamed.clone(), uplink.clone()], moved.clone()].concat();
        self.succeeds("the pods move to it", &pods_moved);
        for pod in ["user-2", "other-2"] {
            wait_running(&self.scene, pod);
        }
        eventually("the pods of the old one are gone", || {
            check(get(&["pod", "user", "-n", &self.scene.name]).is_none(), "still there")
        });
        self.rest = [vec![uplink], moved].concat();
        let last = self.with(renamed);
        let applied = self.tool.commit(PART, &last);
        self.figures.row("the old one is removed", &applied, None);
        eventually("the old one is gone", || check(get(&["usn", "gitops"]).is_none(), "still there"));
        self.tool.await_ready(PART);
    }

    fn goes_with_its_pods_in_one_commit(&mut self) {
        let started = Instant::now();
        let uplink = self.rest[..1].to_vec();
        self.tool.commit(PART, &uplink);
        eventually("the next try removes it", || check(get(&["usn", "renamed"]).is_none(), "still there"));
        self.tool.await_ready(PART);
        self.figures.seconds("pods and network removed in one commit", started.elapsed());
        assert!(get(&["usu", "gitops"]).is_some(), "the rest stays");
    }
}

fn a_network_is_delivered(tool: Box<dyn Tool>) {
    let scene = Scene::new("gitops");
    scene.apply_network("gitops", &json!({"bridge": {"name": "br-gitops", "mtu": MTU}, "port": {"type": "Veth"}}));
    apply(&network(&scene, "gitops", MTU));
    wait_ready("gitops");
    let uplink = nowhere("gitops", &["100-199"]);
    let _uplink = Uplink::apply(&uplink);
    let pods = ["user", "other"].map(|pod| sleeping_pod(&scene, pod, "gitops"));
    let rest = [uplink].into_iter().chain(pods).collect();
    let figures = Figures::new(tool.name());
    let mut delivery = Delivery { tool, scene, rest, figures, stream: None };
    delivery.tool.add(PART, &[]);
    delivery.takes_over_and_settles();
    delivery.begins_traffic();
    delivery.changes();
    delivery.others_fail();
    delivery.mistakes_are_reverted();
    delivery.is_renamed_in_three_commits();
    delivery.goes_with_its_pods_in_one_commit();
    kubectl(&["delete", "usn", "renamed", "gitops-taken", "--ignore-not-found"]);
}

#[test]
#[ignore = "long: make nightly"]
fn flux_takes_over_without_changes_and_its_mistaken_removals_can_be_undone() {
    a_network_is_delivered(Box::new(Flux::start()));
}

#[test]
fn argo_cd_takes_over_without_changes_and_its_mistaken_removals_can_be_undone() {
    if let Some(argo) = Argo::start(Mode::ClientSide) {
        a_network_is_delivered(Box::new(argo));
    }
}

#[test]
fn argo_cd_with_server_side_apply_does_the_same() {
    if let Some(argo) = Argo::start(Mode::ServerSide) {
        a_network_is_delivered(Box::new(argo));
    }
}
