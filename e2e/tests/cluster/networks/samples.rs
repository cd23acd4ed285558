//! The files of `config`: samples are applied as they are, and every overlay can be installed.

use crate::support::cluster::{NODES, eventually, get, kubectl, timeout, try_run, try_vsctl, vsctl};
use crate::support::pods::{start, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::{capture, tools, vpp};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config")
}

/// The samples; a file with pods only comes after the networks.
fn files() -> Vec<String> {
    let entries = std::fs::read_dir(config().join("samples")).unwrap();
    let mut files: Vec<String> = entries.map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.retain(|file| file.ends_with(".yaml"));
    files.sort();
    files
}

/// The objects of a file as the API server would take them.
fn objects(file: &str, namespace: &str) -> Vec<Value> {
    let text = kubectl(&["create", "--dry-run=client", "-o", "json", "-n", namespace, "-f", file]);
    // kubectl prints one document for each object, one after the other.
    serde_json::Deserializer::from_str(&text).into_iter::<Value>().map(Result::unwrap).collect()
}

/// The bridge that the sample of an adopted one takes for granted.
const UPLINK: &str = "br-uplink";

/// Deletes what the samples made, also when the test fails.
struct Applied<'a>(&'a Scene, Vec<String>);

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "pods", "--all", "-n", &self.0.name, "--grace-period=1"], "");
        for file in &self.1 {
            let _failed = try_run("kubectl", &["delete", "-n", &self.0.name, "--ignore-not-found", "-f", file], "");
        }
        for node in NODES {
            let _failed = try_vsctl(node, &["--if-exists", "del-br", UPLINK]);
        }
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn network_of(pod: &Value) -> &str {
    pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().unwrap()
}

/// How many frames a port takes at once: those of a device of the kernel wait in the buffer of a
/// packet socket, which by default has room for about 90 of 1500 bytes.
fn burst(network: Option<&Value>) -> u32 {
    let is_veth = network.is_some_and(|network| network["spec"]["port"]["type"] == "Veth");
    if is_veth { 50 } else { 1000 }
}

/// Frames of each size while a capture runs: all its copies come where they are few enough for its
/// ring.
const CAPTURED: u32 = 50;

/// A second pod of a sample, on the node of the first: each receives what the other sends, and
/// answers its echo requests. A capture takes no frame away and has all of them. Where the engine
/// routes there are no frames, and it cannot capture.
fn exchange_with_twin(scene: &Scene, pod: &Value, network: Option<&Value>) {
    let name = name_of(pod);
    let twin_name = format!("{name}-twin");
    let running = get(&["pod", name, "-n", &scene.name]).unwrap();
    let mut twin = pod.clone();
    twin["metadata"]["name"] = twin_name.clone().into();
    twin["metadata"]["namespace"] = scene.name.clone().into();
    twin["spec"]["nodeName"] = running["spec"]["nodeName"].clone();
    start(scene, &twin);
    let is_routed = network.is_some_and(|network| network["spec"]["port"]["memif"]["mode"] == "IP");
    for (from, to) in [(name, twin_name.as_str()), (twin_name.as_str(), name)] {
        if is_routed {
            eventually("the other pod answers", || tools::ping(scene, from, to).map(drop));
        } else {
            tools::exchange(scene, from, to, burst(network));
        }
    }
    if is_routed {
        scene.delete_pod(&twin_name);
        return;
    }
    let captured = format!("{}/{name}", scene.name);
    let (frames, said) = capture::received_during(&captured, "net1", 2 * CAPTURED, || {
        tools::exchange(scene, &twin_name, name, CAPTURED);
    });
    println!("capture of {name}: {said}; {} frames, the first: {:?}", frames.len(), frames.first());
    assert_eq!(frames.len(), 2 * CAPTURED as usize, "{said}");
    scene.delete_pod(&twin_name);
}

/// Labels the namespace as a network selects it.
fn select(scene: &Scene, network: &Value) {
    for (label, value) in network["spec"]["namespaceSelector"]["matchLabels"].as_object().into_iter().flatten() {
        let label = format!("{label}={}", value.as_str().unwrap());
        kubectl(&["label", "namespace", &scene.name, &label, "--overwrite"]);
    }
}

#[test]
fn every_sample_works_unchanged() {
    let scene = Scene::new("samples");
    let files = files();
    let applied = Applied(&scene, files.clone());
    for node in NODES {
        vsctl(node, &["add-br", UPLINK, "--", "set", "Bridge", UPLINK, "datapath_type=netdev"]);
    }
    let (mut networks, mut pods) = (Vec::new(), Vec::new());
    let (mut attachments, mut reservations) = (Vec::new(), Vec::new());
    let all = files.iter().flat_map(|file| objects(file, &scene.name).into_iter().map(move |object| (file, object)));
    for (file, object) in all {
        match object["kind"].as_str() {
            Some("UserspaceNetwork") => networks.push(object),
            Some("Pod") => pods.push(object),
            Some("UserspaceAttachment") => attachments.push((file, object)),
            Some("UserspaceReservation") => reservations.push(format!("usnr/{}", name_of(&object))),
            _ => (),
        }
    }
    networks.iter().for_each(|network| select(&scene, network));
    // Networks first: kubectl applies a file's objects in order, and a pod that comes before its
    // definition waits for kubelet's next try.
    let is_late = |file: &&String| attachments.iter().any(|(late, _)| late == file);
    for file in files.iter().filter(|file| !is_late(file)) {
        kubectl(&["apply", "-n", &scene.name, "-f", file]);
    }
    for network in &networks {
        wait_ready(network["metadata"]["name"].as_str().unwrap());
    }
    for reservation in &reservations {
        kubectl(&["wait", "--for=condition=Ready", reservation, "-n", &scene.name, timeout()]);
    }
    assert!(networks.len() >= 4 && pods.len() >= 4, "{} networks, {} pods", networks.len(), pods.len());
    for pod in &pods {
        wait_running(&scene, name_of(pod));
        let network = networks.iter().find(|network| network["metadata"]["name"] == network_of(pod));
        let is_of_vpp = network.is_some_and(|network| network["spec"]["engine"] == "VPP");
        if !is_of_vpp || vpp::moves_packets(&format!("packets of the sample {}", name_of(pod))) {
            exchange_with_twin(&scene, pod, network);
        }
    }
    // Afterwards: programs of the pods choose their interface by themselves while there is one.
    for (file, attachment) in &attachments {
        kubectl(&["apply", "-n", &scene.name, "-f", file]);
        let name = name_of(attachment);
        kubectl(&["wait", "--for=condition=Ready", &format!("usna/{name}"), "-n", &scene.name, timeout()]);
        let found = get(&["usna", name, "-n", &scene.name]).unwrap();
        assert_eq!(found["status"]["socket"], "net7.sock", "{found}");
    }
    drop(applied);
}

#[test]
fn every_overlay_can_be_applied_and_reaches_its_engines() {
    for (overlay, sockets) in [
        ("default", &["/run/openvswitch", "/run/vpp"][..]),
        ("overlays/both", &["/run/openvswitch", "/run/vpp"]),
        ("overlays/ovs", &["/run/openvswitch"]),
        ("overlays/vpp", &["/run/vpp"]),
    ] {
        let folder = config().join(overlay).display().to_string();
        let text = kubectl(&["apply", "--dry-run=server", "-o", "json", "-k", &folder]);
        let all: Value = serde_json::from_str(&text).unwrap();
        let items = all["items"].as_array().unwrap();
        let agent = items.iter().find(|object| object["kind"] == "DaemonSet").unwrap();
        let mounts = agent["spec"]["template"]["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
        let engines = ["/run/openvswitch", "/run/vpp"].into_iter();
        let mounted: Vec<&str> =
            engines.filter(|path| mounts.iter().any(|mount| mount["mountPath"] == *path)).collect();
        assert_eq!(mounted, sockets, "{overlay}");
    }
}

/// A kustomization of a user beside the test bed's installation, whose base is what the test bed
/// applied.
#[test]
fn the_components_can_be_added() {
    let folder = PathBuf::from(std::env::var("USNET_WORLD").unwrap()).canonicalize().unwrap().join("with-components");
    std::fs::create_dir_all(&folder).unwrap();
    let up: PathBuf = folder.components().skip(1).map(|_| Path::new("..")).collect();
    let config = config().canonicalize().unwrap();
    let relative = |part: &str| up.join(config.join(part).strip_prefix("/").unwrap());
    let components = ["no-legacy-nads", "no-garbage-collection", "network-policy"];
    let components = components.map(|name| relative(&format!("components/{name}")));
    let kustomization = serde_json::json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [relative("default")], "components": components,
    });
    std::fs::write(folder.join("kustomization.yaml"), kustomization.to_string()).unwrap();
    let folder = folder.display().to_string();
    let all: Value =
        serde_json::from_str(&kubectl(&["apply", "--dry-run=server", "-o", "json", "-k", &folder])).unwrap();
    let items = all["items"].as_array().unwrap();
    let deployment = items.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    let is_disabled = |it: &Value| it["name"] == "USNET_LEGACY_NADS" && it["value"] == "Disabled";
    assert!(variables.iter().any(is_disabled), "{variables:?}");
    assert!(variables.iter().any(|it| it["name"] == "POD_NAME"), "{variables:?}");
    let agent = items.iter().find(|object| object["kind"] == "DaemonSet").unwrap();
    let agent = &agent["spec"]["template"]["spec"];
    let containers = agent["containers"].as_array().unwrap();
    assert!(containers.len() == 1 && containers[0]["name"] == "agent", "{containers:?}");
    let volumes: Vec<_> = agent["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]).collect();
    assert!(!volumes.iter().any(|name| *name == "cni-sockets" || *name == "legacy-mounts"), "{volumes:?}");
    let policy = items.iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
    assert_eq!(policy["metadata"]["namespace"], "usnet-system");
    let selected = &policy["spec"]["podSelector"]["matchLabels"];
    assert_eq!(
        deployment["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"],
        selected["app.kubernetes.io/name"]
    );
}
