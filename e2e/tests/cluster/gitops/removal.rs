//! What users of GitOps do: they take over, change, remove, and revert.

use super::flux::Flux;
use crate::support::cluster::{apply, check, condition, eventually, get};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::{Scene, as_users_write_it, wait_ready};
use crate::support::uplinks::{Uplink, nowhere};
use serde_json::{Value, json};
use usnet_crds::manifests::crds;

fn network(scene: &Scene, name: &str, mtu: i64) -> Value {
    as_users_write_it(scene.manifest(
        name,
        &json!({
            "bridge": {"name": "br-gitops", "mtu": mtu}, "port": {"vhostUser": {}},
            "topology": {"type": "Overlay", "overlay": {}}, "resourceClaims": {},
        }),
    ))
}

/// What must stay as it is: which object it is, what it says and whether it works.
fn identity(name: &str) -> (Value, Value, bool) {
    let object = get(&["usn", name]).unwrap();
    let is_ready = condition(&object, "Ready").is_some_and(|ready| ready["status"] == "True");
    (object["metadata"]["uid"].clone(), object["metadata"]["generation"].clone(), is_ready)
}

fn await_counted(name: &str, count: i64) {
    eventually("its pods are counted", || {
        let status = get(&["usn", name]).unwrap()["status"].clone();
        check(status["attachments"] == count, status.to_string())
    });
}

#[test]
fn flux_takes_over_settles_and_what_it_removes_by_mistake_can_be_put_back() {
    let scene = Scene::new("gitops");
    scene.apply_network("gitops", &json!({"bridge": {"name": "br-gitops", "mtu": 1400}}));
    let good = network(&scene, "gitops", 1400);
    apply(&good);
    wait_ready("gitops");
    let uplink = nowhere("gitops", &["100-199"]);
    let _uplink = Uplink::apply(&uplink);
    let mut flux = Flux::start();
    let ready = |what: &str, flux: &mut Flux, objects: &[Value]| {
        let applied = flux.commit(objects);
        println!("{what}: {:?}: {}", applied.after, applied.message);
        assert!(applied.is_ready, "{what}: {}", applied.message);
    };
    let refused = |what: &str, flux: &mut Flux, objects: &[Value], words: &[&str]| {
        let applied = flux.commit(objects);
        println!("{what}: {:?}: {}", applied.after, applied.message);
        let has_words = words.iter().all(|word| applied.message.contains(word));
        assert!(!applied.is_ready && has_words, "{what}: {applied:?}");
    };
    let both = [good, uplink.clone()];
    let before = identity("gitops");
    assert!(before.2);
    ready("what kubectl has applied is taken over", &mut flux, &both);
    flux.reconcile();
    flux.reconcile();
    assert_eq!(identity("gitops"), before, "nothing changes");

    start(&scene, &sleeping_pod(&scene, "user", "gitops"));
    await_counted("gitops", 1);
    let in_use = ["gitops/user", "usnet.dev/drain=gitops"];
    refused("a network in use is removed", &mut flux, std::slice::from_ref(&uplink), &in_use);
    assert_eq!(identity("gitops"), before);
    ready("and put back", &mut flux, &both);
    start(&scene, &sleeping_pod(&scene, "late", "gitops"));

    flux.set_force(true);
    refused("an MTU that is refused, with force", &mut flux, &[network(&scene, "gitops", 100), uplink.clone()], &[]);
    flux.set_force(false);
    assert_eq!(identity("gitops"), before);
    refused("a rename that keeps the bridge", &mut flux, &[network(&scene, "renamed", 1400), uplink.clone()], &in_use);
    assert_eq!(identity("gitops"), before);
    ready("and taken back", &mut flux, &both);
    assert_eq!(identity("gitops"), before);

    let with_crds: Vec<Value> = crds().unwrap().into_iter().chain(both.clone()).collect();
    ready("the CRDs of usnet are in the repository", &mut flux, &with_crds);
    ready("and are removed from it", &mut flux, &both);
    let crd = get(&["crd", "userspacenetworks.usnet.dev"]).unwrap();
    assert!(crd["metadata"]["deletionTimestamp"].is_null() && identity("gitops") == before, "{crd}");

    scene.delete_pods(["user", "late"]);
    await_counted("gitops", 0);
    ready("the network is removed without pods", &mut flux, &[uplink]);
    eventually("it is gone", || check(get(&["usn", "gitops"]).is_none(), "still there"));
}
