//! A network that pods use is not deleted by mistake by any tool: what a repository removes can be
//! restored.

use crate::support::cluster::{apply, kubectl, timeout, try_run};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::{Scene, await_counted, delete_unused, remains, wait_ready};
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

/// Returns the API server's response to a dry run of the deletion.
fn try_delete(network: &str) -> Result<String, String> {
    try_run("kubectl", &["delete", "usn", network, "--dry-run=server"], "")
}

#[test]
fn a_network_in_use_is_not_deleted_until_its_pods_are_gone() {
    let scene = Scene::new("kept");
    scene.apply_network("kept", &json!({}));
    let mut manifest = scene.manifest("kept", &json!({}));
    manifest["metadata"]["labels"] = json!({"scene": "kept"});
    manifest["metadata"]["annotations"] = json!({"usnet.dev/keep-in-use": "true"});
    apply(&manifest);
    wait_ready("kept");
    start(&scene, &sleeping_pod(&scene, "user", "kept"));
    let started = Instant::now();
    await_counted("kept", 1);
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
fn a_network_is_kept_for_the_tool_that_delivers_it_unless_it_says_that_its_deletion_is_meant() {
    let scene = Scene::new("meant");
    scene.network("meant", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "meant"));
    await_counted("meant", 1);
    let mark = |verb: &str, mark: &str| drop(kubectl(&[verb, "usn", "meant", "--overwrite", mark]));
    assert!(try_delete("meant").is_ok(), "nothing delivers it");
    for (verb, key) in [
        ("label", "kustomize.toolkit.fluxcd.io/name"),
        ("label", "helm.toolkit.fluxcd.io/name"),
        ("label", "argocd.argoproj.io/instance"),
        ("label", "app.kubernetes.io/instance"),
        ("annotate", "argocd.argoproj.io/tracking-id"),
        ("annotate", "meta.helm.sh/release-name"),
    ] {
        mark(verb, &format!("{key}=networks"));
        assert!(try_delete("meant").is_err_and(|words| words.contains("meant/user")), "{key}");
        mark(verb, &format!("{key}-"));
    }
    assert!(try_delete("meant").is_ok(), "nothing delivers it any more");
    mark("annotate", "usnet.dev/keep-in-use=true");
    assert!(try_delete("meant").is_err());
    mark("annotate", "usnet.dev/drain=meant");
    kubectl(&["delete", "usn", "meant", "--wait=false"]);
    scene.delete_pod("user");
    kubectl(&["wait", "usn/meant", "--for=delete", timeout()]);
}
