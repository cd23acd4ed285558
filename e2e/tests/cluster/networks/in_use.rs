//! A network that pods use is not deleted by mistake, whatever requests it: what a repository
//! removes can be put back.

use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::{Scene, as_users_write_it, delete_unused, remains, wait_ready};
use serde_json::json;
use std::time::Instant;

/// Of what the other tools request, each comes to the API server as one of these.
fn requests(network: &str, manifest: &str) -> Vec<(Vec<String>, String)> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let label = format!("scene={network}");
    let other = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "other", "namespace": network, "labels": {"scene": network}},
    });
    vec![
        (words(&format!("delete usn {network} --wait=false")), String::new()),
        (words(&format!("delete usn -l {label} --wait=false")), String::new()),
        (
            words(&format!("delete --raw /apis/usnet.dev/v1alpha1/userspacenetworks?labelSelector={label}")),
            String::new(),
        ),
        (words("replace --force -f -"), manifest.to_owned()),
        (
            words(&format!("apply -l {label} --prune --prune-allowlist=usnet.dev/v1alpha1/UserspaceNetwork -f -")),
            other.to_string(),
        ),
    ]
}

#[test]
fn a_network_that_pods_use_is_not_deleted_and_goes_when_they_are_gone() {
    let scene = Scene::new("kept");
    scene.apply_network("kept", &json!({}));
    let mut manifest = as_users_write_it(scene.manifest("kept", &json!({})));
    manifest["metadata"]["labels"] = json!({"scene": "kept"});
    manifest["metadata"]["annotations"] = json!({"usnet.dev/keep-in-use": "true"});
    apply(&manifest);
    wait_ready("kept");
    start(&scene, &sleeping_pod(&scene, "user", "kept"));
    let counts = |expected: i64| {
        eventually("the pods are counted", || {
            let status = get(&["usn", "kept"]).unwrap()["status"].clone();
            check(status["attachments"] == expected, status.to_string())
        });
    };
    let started = Instant::now();
    counts(1);
    println!("counted {:?} after the pod was Ready", started.elapsed());

    // The value is not the network's name.
    kubectl(&["annotate", "usn", "kept", "usnet.dev/drain=true"]);
    let uid = |object: &str| kubectl(&["get", "usn", object, "-o", "jsonpath={.metadata.uid}"]);
    let before = uid("kept");
    for (arguments, input) in requests("kept", &manifest.to_string()) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let words = try_run("kubectl", &arguments, &input).expect_err("it is refused");
        assert!(words.contains("kept/user") && words.contains("usnet.dev/drain=kept"), "{arguments:?}: {words}");
    }
    assert_eq!(uid("kept"), before);
    start(&scene, &sleeping_pod(&scene, "late", "kept"));

    scene.delete_pods(["user", "late"]);
    let started = Instant::now();
    delete_unused(&["usn", "kept"]).unwrap();
    println!("gone {:?} after its last pod", started.elapsed());
    assert_eq!(remains("kept"), Vec::<String>::new());
}

#[test]
fn a_network_that_says_so_is_deleted_and_goes_with_its_last_pod() {
    let scene = Scene::new("meant");
    apply(&as_users_write_it(scene.manifest("meant", &json!({}))));
    scene.network("meant", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "meant"));
    kubectl(&["annotate", "usn", "meant", "usnet.dev/keep-in-use=true", "usnet.dev/drain=meant", "--overwrite"]);
    kubectl(&["delete", "usn", "meant", "--wait=false"]);
    scene.delete_pod("user");
    kubectl(&["wait", "usn/meant", "--for=delete", timeout()]);
}
