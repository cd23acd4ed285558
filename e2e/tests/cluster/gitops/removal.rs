//! What users of GitOps do: they take over, change, remove, and revert.

use super::flux::Flux;
use crate::support::cluster::{apply, check, condition, eventually, get};
use crate::support::pods::{sleeping_pod, start, wait_running};
use crate::support::scene::{Scene, await_counted, wait_ready};
use crate::support::uplinks::{Uplink, nowhere};
use serde_json::{Value, json};
use std::time::Instant;
use usnet_crds::manifests::crds;

const MTU: i64 = 1400;

fn network(scene: &Scene, name: &str, mtu: i64) -> Value {
    let spec = json!({
        "bridge": {"name": "br-gitops", "mtu": mtu}, "port": {"vhostUser": {}},
        "topology": {"type": "Overlay", "overlay": {}}, "resourceClaims": {},
    });
    scene.manifest(name, &spec)
}

/// What must stay as it is: which object it is, what it says and whether it works.
fn identity(name: &str) -> (Value, Value, bool) {
    let object = get(&["usn", name]).unwrap();
    let is_ready = condition(&object, "Ready").is_some_and(|ready| ready["status"] == "True");
    (object["metadata"]["uid"].clone(), object["metadata"]["generation"].clone(), is_ready)
}

/// A repository with a network, an uplink and a pod, which Flux applies.
struct Delivery {
    flux: Flux,
    scene: Scene,
    /// All but the network.
    rest: [Value; 2],
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

    #[track_caller]
    fn succeeds(&mut self, what: &str, objects: &[Value]) {
        let applied = self.flux.commit(objects);
        println!("{what}: {:?}: {}", applied.after, applied.message);
        assert!(applied.is_ready, "{what}: {}", applied.message);
    }

    /// The commit fails because pods use the network, which is as before.
    #[track_caller]
    fn is_refused(&mut self, what: &str, objects: &[Value]) {
        let before = identity("gitops");
        let applied = self.flux.commit(objects);
        println!("{what}: {:?}: {}", applied.after, applied.message);
        let has_words = IN_USE.iter().all(|word| applied.message.contains(word));
        assert!(!applied.is_ready && has_words, "{what}: {applied:?}");
        assert_eq!(identity("gitops"), before, "{what}");
    }

    fn takes_over_and_settles(&mut self) {
        let before = identity("gitops");
        assert!(before.2, "it is Ready");
        let all = self.all();
        self.succeeds("what kubectl has applied is taken over", &all);
        self.flux.reconcile();
        self.flux.reconcile();
        assert_eq!(identity("gitops"), before, "nothing changes");
    }

    fn mistakes_are_reverted(&mut self) {
        let (all, rest) = (self.all(), self.rest.clone());
        self.is_refused("a network in use is removed", &rest);
        self.succeeds("and put back", &all);
        start(&self.scene, &sleeping_pod(&self.scene, "late", "gitops"));
        self.flux.set_force(true);
        self.is_refused("an MTU that is refused, with force", &self.with(network(&self.scene, "gitops", 100)));
        self.flux.set_force(false);
        self.is_refused("a rename that keeps the bridge", &self.with(network(&self.scene, "renamed", MTU)));
        self.succeeds("and taken back", &all);
        let with_crds: Vec<Value> = crds().unwrap().into_iter().chain(all.clone()).collect();
        self.succeeds("the CRDs of usnet are in the repository", &with_crds);
        self.succeeds("and are removed from it", &all);
        let crd = get(&["crd", "userspacenetworks.usnet.dev"]).unwrap();
        assert!(crd["metadata"]["deletionTimestamp"].is_null(), "{crd}");
    }

    fn goes_with_its_pods_in_one_commit(&mut self) {
        self.scene.delete_pod("late");
        let started = Instant::now();
        self.flux.commit(&self.rest[..1]);
        eventually("the next try removes it", || check(get(&["usn", "gitops"]).is_none(), "still there"));
        self.flux.await_ready();
        println!("pod and network removed in one commit: {:?}", started.elapsed());
        assert!(get(&["usu", "gitops"]).is_some(), "the rest stays");
    }
}

#[test]
fn flux_takes_over_settles_and_what_it_removes_by_mistake_can_be_put_back() {
    let scene = Scene::new("gitops");
    scene.apply_network("gitops", &json!({"bridge": {"name": "br-gitops", "mtu": MTU}}));
    apply(&network(&scene, "gitops", MTU));
    wait_ready("gitops");
    let uplink = nowhere("gitops", &["100-199"]);
    let _uplink = Uplink::apply(&uplink);
    let rest = [uplink, sleeping_pod(&scene, "user", "gitops")];
    let mut delivery = Delivery { flux: Flux::start(), scene, rest };
    delivery.takes_over_and_settles();
    wait_running(&delivery.scene, "user");
    await_counted("gitops", 1);
    delivery.mistakes_are_reverted();
    delivery.goes_with_its_pods_in_one_commit();
}
