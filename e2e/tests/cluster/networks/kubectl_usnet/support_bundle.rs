//! `kubectl usnet support-bundle`: its content, and the secrets that it must not contain.

use crate::support::cluster::{apply, eventually, kubectl, nodes, on_node, run};
use crate::support::kubectl_usnet::bundle;
use crate::support::pods::{NODE, description, pod_without_volume, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::json;

const NETWORK: &str = "ask-bundle";
/// In a definition, in a variable of a pod, in a file of a node, and in a definition of another
/// plugin and an annotation, under names that say nothing.
const PLANTED: [&str; 5] = [
    "planted-of-ipam-7f3a",
    "planted-of-container-91bc",
    "planted-of-node-c2d4",
    "planted-of-macvlan-5e0b",
    "planted-of-namespace-ad41",
];

/// Secrets where users and programs leave them. Returns all, with that of a memif.
fn plant(scene: &Scene) -> Vec<String> {
    let ipam = json!({"type": "host-local", "etcd_password": PLANTED[0]});
    let config =
        json!({"cniVersion": "1.1.0", "name": "planted", "type": "userspace", "network": NETWORK, "ipam": ipam});
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "planted", "namespace": scene.name}, "spec": {"config": config.to_string()},
    }));
    let foreign = json!({"cniVersion": "1.1.0", "name": "foreign", "plugins": [
        {"type": "macvlan", "master": "eth0", "pin": PLANTED[3], "ipam": {"type": "static", "passphrase": PLANTED[3]}},
        {"type": "tuning", "url": format!("https://user:{}@localhost/", PLANTED[3])},
    ]});
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "foreign", "namespace": scene.name}, "spec": {"config": foreign.to_string()},
    }));
    kubectl(&["annotate", "namespace", &scene.name, &format!("example.org/note={}", PLANTED[4])]);
    let mut pod = sleeping_pod(scene, "variable", NETWORK);
    pod["spec"]["containers"][0]["env"] = json!([{"name": "API_TOKEN", "value": PLANTED[1]}]);
    start(scene, &pod);
    // As if the plugin had said it.
    let call = format!(
        r#"{{"time":1790000000000,"verb":"ADD","pod":"a/b","container":"c","interface":"net1","network":"x","milliseconds":1,"error":"password={} and {}"}}"#,
        PLANTED[2], PLANTED[0]
    );
    on_node(NODE, &["sh", "-c", &format!("printf '%s\\n' '{call}' >>/run/usnet/calls.jsonl")]);
    scene.network(
        "ask-bundle-memif",
        &json!({"engine": "VPP", "port": {"type": "Memif", "memif": {"secret": "Generated"}}}),
    );
    start(scene, &sleeping_pod(scene, "keeper", "ask-bundle-memif"));
    let memif = description(scene, "keeper", "net1")["secret"].as_str().unwrap().to_owned();
    PLANTED.into_iter().map(str::to_owned).chain([memif]).collect()
}

fn assert_page(report: &str) {
    for part in ["</svg>", "ask-bundle/keeper", "create bridge br-ask-bundle", "totals since each port was created"] {
        assert!(report.contains(part), "no {part} in {report}");
    }
    assert!(!report.contains("NOT READ"), "{report}");
}

#[test]
fn a_bundle_has_diagnostic_data_and_no_secrets() {
    let scene = Scene::new(NETWORK);
    scene.network(NETWORK, &json!({"port": {"type": "Veth"}}));
    scene.network("ask-bundle-socket", &json!({}));
    let secrets = plant(&scene);
    apply(&pod_without_volume(&scene, "waits", "ask-bundle-socket"));
    scene.await_refusal("waits", &["NoVolume"]);

    let (answer, files) = eventually("a bundle of a cluster in which everything answers", || {
        let (answer, files) = bundle();
        if answer.status == 0 { Ok((answer, files)) } else { Err(format!("{answer:?} {}", files["errors.txt"])) }
    });
    assert!(answer.stderr.contains("reading logs") && answer.stdout.contains("Everything was read"), "{answer:?}");
    for (name, text) in &files {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{secret} is in {name}");
        }
    }
    let all = |name: &str| files.get(name).unwrap_or_else(|| panic!("{name} is not in {:?}", files.keys()));
    let definitions = all("cluster/network-attachment-definitions.yaml");
    assert!(definitions.contains("(removed)") && definitions.contains("type: macvlan"), "{definitions}");
    assert!(all("pods.txt").contains("NoVolume of net1") && all("pods.txt").contains("ask-bundle/keeper"));
    assert!(all("cluster/userspacenetworks.yaml").contains(NETWORK));
    assert_page(all("report.html"));
    for node in nodes() {
        for (name, text) in [
            ("state.json", "\"node\""),
            ("history.jsonl", "br-ask-bundle"),
            ("networks/ask-bundle.json", "Programmed"),
            ("ports.json", "\"ports\""),
            ("open-vswitch/show.txt", "bridge br-ask-bundle"),
            ("open-vswitch/macs-br-ask-bundle.txt", "MAC"),
            ("vpp/show-version.txt", ""),
            ("kernel.txt", "Linux"),
        ] {
            assert!(all(&format!("nodes/{node}/{name}")).contains(text), "{name} of {node}");
        }
    }
    let show = all(&format!("nodes/{NODE}/open-vswitch/show.txt"));
    assert!(!show.contains("Some(") && !show.contains("None"), "{show}");
    assert!(all(&format!("nodes/{NODE}/ports.json")).contains("\"keeper\""));
    let metrics: Vec<_> = files.iter().filter(|(name, _)| name.starts_with("metrics/")).collect();
    assert_eq!(metrics.len(), nodes().len() + 2, "{:?}", files.keys());
    assert!(metrics.iter().all(|(_, text)| text.contains("usnet_build_info{")), "{metrics:?}");
    for kind in ["userspaceattachments", "resourceclaims", "resourceslices", "deviceclasses"] {
        all(&format!("cluster/{kind}.yaml"));
    }
    assert!(all(&format!("nodes/{NODE}/attachments.json")).contains("\"keeper\""));
    assert!(all(&format!("nodes/{NODE}/calls.jsonl")).contains("password=(removed)"));
    let logs = |part: &str| files.keys().filter(|name| name.starts_with("logs/") && name.ends_with(part)).count();
    assert!(logs("/agent.log") == nodes().len() && logs("/controller.log") == 2, "{:?}", files.keys());
    println!("{}", answer.stdout);
}

#[test]
fn a_node_that_does_not_respond_is_named_in_the_bundle() {
    run("component", &["stop", "kubelet", "node-b"]);
    let (answer, files) = bundle();
    run("component", &["start", "kubelet", "node-b"]);
    assert_eq!(answer.status, 1, "{answer:?}");
    let errors = &files["errors.txt"];
    println!("{errors}");
    assert!(errors.lines().any(|line| line.starts_with("node node-b: ")), "{errors}");
    assert!(files.contains_key(&format!("nodes/{NODE}/state.json")), "{:?}", files.keys());
    assert!(!files.keys().any(|name| name.starts_with("nodes/node-b/")), "{:?}", files.keys());
}
