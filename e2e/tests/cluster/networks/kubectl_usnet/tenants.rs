//! The roles of config/components/tenant-roles, which config/default has: the objects that users
//! may view and change with them, and what `kubectl usnet` tells a developer who has a namespace.

use crate::support::cluster::{apply, check, eventually, kubectl, try_run};
use crate::support::kubectl_usnet::{kubeconfig, usnet};
use crate::support::pods::{pod_without_volume, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::json;

#[test]
fn viewers_of_a_namespace_see_its_definitions_and_cannot_write_networks() {
    let scene = Scene::new("ask-tenant");
    let account = format!("system:serviceaccount:{}:default", scene.name);
    kubectl(&[
        "create",
        "rolebinding",
        "tenant",
        "--clusterrole=view",
        "--serviceaccount=ask-tenant:default",
        "-n",
        &scene.name,
    ]);
    let may = |verb: &str, what: &str, place: &[&str]| {
        let command = [&["auth", "can-i", verb, what, "--as", &account], place].concat();
        try_run("kubectl", &command, "").is_ok()
    };
    let here = ["-n", scene.name.as_str()];
    let definitions = "network-attachment-definitions.k8s.cni.cncf.io";
    eventually("the rights of view", || check(may("list", definitions, &here), "not aggregated yet"));
    assert!(!may("list", definitions, &["-n", "default"]));
    assert!(!may("create", definitions, &here));
    assert!(!may("list", "userspacenetworks.usnet.dev", &[]));

    let binding = Bound("ask-tenant-networks");
    kubectl(&["create", "clusterrolebinding", binding.0, "--clusterrole=view", "--serviceaccount=ask-tenant:default"]);
    eventually("networks", || check(may("list", "userspacenetworks.usnet.dev", &[]), "no right"));
    assert!(!may("delete", "userspacenetworks.usnet.dev", &[]));
    kubectl(&["delete", "clusterrolebinding", binding.0]);
    kubectl(&[
        "create",
        "clusterrolebinding",
        binding.0,
        "--clusterrole=usnet-networks-edit",
        "--serviceaccount=ask-tenant:default",
    ]);
    eventually("networks", || check(may("delete", "userspacenetworks.usnet.dev", &[]), "no right"));
    assert!(!may("delete", "compilednetworks.usnet.dev", &[]));
    assert!(!may("delete", "compiledpolicies.usnet.dev", &[]));
}

/// A ClusterRoleBinding that does not outlive its test.
struct Bound(&'static str);

impl Drop for Bound {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "--ignore-not-found", "clusterrolebinding", self.0], "");
    }
}

const DEVELOPER: &str = "ask-dev";
/// What a developer may not read, and who may.
const ROLE: &str = "usnet-networks-view";

/// The commands, and for each the exit status and words of the output of a developer with the
/// ClusterRole `edit` in the namespace of the pods.
const COMMANDS: [(&[&str], i32, &[&str]); 11] = [
    (&["explain", "pod", "bare"], 1, &["not attached: NoVolume", "volumeMounts", "NOT READ", ROLE]),
    (&["explain", "pod/typo"], 1, &["not attached: DefinitionMissing", "write ask-dev if", "NOT READ", ROLE]),
    (&["explain", "pod", "reserved"], 1, &["InterfaceNameInvalid", "use another name"]),
    (&["explain", "pod", "left"], 0, &["ask-dev-veth", "attached", "NOT READ"]),
    (&["explain", "deploy/web"], 1, &["deployment ask-dev/web, 1 pod, 0 without a problem", "NoVolume"]),
    (&["pods", "ask-dev-veth"], 1, &["ask-dev/left", "ask-dev/right", "ask-dev/reserved", "NOT READ", ROLE]),
    (&["pods", "ask-dev"], 1, &["WAITING FOR THE NETWORK", "ask-dev/bare"]),
    (&["top"], 0, &["ask-dev/left", "10.56.91.", "no role of usnet"]),
    (&["trace", "left", "right"], 0, &["ask-dev/left net1 is attached", "NothingFound", ROLE]),
    (&["explain", "network", "ask-dev"], 4, &["you may not read", ROLE]),
    (&["status"], 4, &["you may not read", ROLE]),
];

#[test]
fn a_developer_gets_what_concerns_the_pods_of_the_namespace() {
    let scene = Scene::new(DEVELOPER);
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.91.0/24"}]]});
    scene.network("ask-dev-veth", &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    scene.network(DEVELOPER, &json!({}));
    let binding = ["create", "rolebinding", "developer", "--clusterrole=edit", "--serviceaccount=ask-dev:default"];
    kubectl(&[binding.as_slice(), &["-n", DEVELOPER]].concat());
    apply(&pod_without_volume(&scene, "bare", DEVELOPER));
    apply(&sleeping_pod(&scene, "typo", "ask-dew"));
    apply(&sleeping_pod(&scene, "reserved", "ask-dev-veth@eth0"));
    let template = pod_without_volume(&scene, "web", DEVELOPER);
    let metadata = json!({"labels": {"app": "web"}, "annotations": template["metadata"]["annotations"]});
    apply(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": DEVELOPER},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": metadata, "spec": template["spec"]}},
    }));
    for name in ["left", "right"] {
        start(&scene, &sleeping_pod(&scene, name, "ask-dev-veth"));
    }
    scene.await_refusal("bare", &["NoVolume"]);
    scene.await_refusal("typo", &["ask-dew"]);

    let config = kubeconfig(&scene.name, "default");
    let options = ["-n", DEVELOPER, "--kubeconfig", config.path().to_str().unwrap()];
    for (arguments, status, words) in COMMANDS {
        eventually(&format!("kubectl usnet {}", arguments.join(" ")), || {
            let output = usnet(&[arguments, &options].concat());
            let text = output.stdout.clone() + &output.stderr;
            let has_all = words.iter().all(|word| text.contains(word));
            check(output.status == status && has_all, format!("status {} and {words:?}: {text}", output.status))
        });
        println!("{}: status {status}", arguments.join(" "));
    }
}
