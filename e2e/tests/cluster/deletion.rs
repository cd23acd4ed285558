//! A network that is deleted while a pod uses it.

use crate::cluster::{apply, check, eventually, get, kubectl, vsctl};
use crate::pods::{NODE, sleeping_pod, start};
use crate::scene::{Scene, await_condition, remains};
use serde_json::json;

#[test]
fn a_network_in_use_stays_names_its_pods_and_refuses_new_ones() {
    let scene = Scene::new("inuse");
    scene.network("inuse", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "inuse"));
    kubectl(&["delete", "usn", "inuse", "--wait=false"]);

    let message = await_condition("inuse", "DeletionBlocked", "True", "InUse");
    assert!(message.contains("inuse/user"), "{message}");
    apply(&sleeping_pod(&scene, "late", "inuse"));
    scene.await_refusal("late", &["inuse", "being deleted"]);
    assert!(vsctl(NODE, &["list-ports", "br-inuse"]).starts_with("vhu"), "the running pod keeps its port");

    scene.delete_pod("late");
    scene.delete_pod("user");
    eventually("the network goes when its pod goes", || check(get(&["usn", "inuse"]).is_none(), "still there"));
    assert_eq!(remains("inuse"), Vec::<String>::new());
}
