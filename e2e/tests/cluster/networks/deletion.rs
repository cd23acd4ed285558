//! A network that is deleted while a pod uses it, or while its definitions are not accessible.

use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_apply, try_run, vsctl};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, await_condition, remains};
use serde_json::{Value, json};

#[test]
fn a_network_in_use_stays_names_its_pods_and_refuses_new_ones() {
    let scene = Scene::new("inuse");
    scene.network("inuse", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "inuse"));
    kubectl(&["delete", "usn", "inuse", "--wait=false"]);

    let message = await_condition("inuse", "DeletionBlocked", "True", "InUse");
    assert!(message.contains("inuse/user"), "{message}");
    let message = scene.await_event("user", "NetworkDraining");
    assert!(message.contains("network inuse was deleted"), "{message}");
    apply(&sleeping_pod(&scene, "late", "inuse"));
    scene.await_refusal("late", &["inuse", "being deleted"]);
    assert!(vsctl(NODE, &["list-ports", "br-inuse"]).starts_with("vhu"), "the running pod keeps its port");

    scene.delete_pod("late");
    scene.delete_pod("user");
    eventually("the network goes when its pod goes", || check(get(&["usn", "inuse"]).is_none(), "still there"));
    assert_eq!(remains("inuse"), Vec::<String>::new());
}

/// Kubernetes was seen to end a namespace so, soon after a start of its API server. What is left
/// then cannot be deleted.
#[test]
fn a_network_is_deleted_although_a_namespace_was_deleted_with_its_definition() {
    let definition = || get(&["net-attach-def", "severed", "-n", "severed-end"]);
    let scene = Scene::new("severed");
    apply(&Ending::namespace());
    let _ending = Ending;
    scene.network("severed", &json!({}));
    eventually("the definition", || check(definition().is_some(), "not there"));
    end_at_once("severed-end");
    assert!(get(&["namespace", "severed-end"]).is_none() && definition().is_some());

    kubectl(&["delete", "usn", "severed", timeout()]);
    assert_eq!(remains("severed"), Vec::<String>::new());
    apply(&Ending::namespace());
    eventually("the definition goes once it can be reached", || check(definition().is_none(), "still there"));
}

/// A namespace that ends before what is in it. What a test that fails leaves there can be reached,
/// and goes with it, once it is there again.
struct Ending;

impl Ending {
    fn namespace() -> Value {
        let labels = json!({"scene": "severed"});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "severed-end", "labels": labels}})
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let delete = ["delete", "namespace", "severed-end", timeout()];
        let gone = try_apply(&Self::namespace()).and_then(|_| try_run("kubectl", &delete, ""));
        if let Err(error) = gone {
            eprintln!("cleaning up severed-end: {error}");
        }
    }
}

/// Ends a namespace with all that is in it left behind.
fn end_at_once(name: &str) {
    kubectl(&["delete", "namespace", name, "--wait=false"]);
    let mut namespace: Value = get(&["namespace", name]).unwrap();
    namespace["spec"]["finalizers"] = json!([]);
    let path = format!("/api/v1/namespaces/{name}/finalize");
    try_run("kubectl", &["replace", "--raw", &path, "-f", "-"], &namespace.to_string()).unwrap();
}
