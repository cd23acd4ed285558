//! The mistakes of pods, made with the real scheduler, kubelet, container runtime and Multus:
//! `kubectl usnet explain` names the cause and what to do, and never ends with status 0. Mistakes
//! that follow from objects alone are in the unit tests of the command.

use super::{list, text};
use crate::resource_claims::is_supported;
use crate::support::cluster::{apply, check, eventually};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{pod_without_volume, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::time::Instant;

const NAME: &str = "ask-wrong";
const VETH: &str = "ask-wrong-veth";
const ELSEWHERE: &str = "ask-wrong-b";
const FULL: &str = "ask-wrong-full";
const CLAIMED: &str = "ask-wrong-claim";

/// A pod with a mistake, and what is expected.
struct Mistake {
    pod: Value,
    cause: &'static str,
    /// Words of the remedy.
    remedy: &'static str,
    /// Words of an event, by which the text of another program is known.
    event: &'static str,
}

struct Mistakes<'a> {
    scene: &'a Scene,
    all: Vec<Mistake>,
}

impl Mistakes<'_> {
    /// A pod with this annotation.
    fn annotated(&mut self, name: &str, networks: &str, cause: &'static str, remedy: &'static str) -> &mut Mistake {
        self.pod(sleeping_pod(self.scene, name, networks), cause, remedy)
    }

    /// A pod whose annotation has one element with these fields, for a network of devices.
    fn element(&mut self, name: &str, fields: &Value, cause: &'static str, remedy: &'static str) -> &mut Mistake {
        let mut element = json!({"name": VETH});
        element.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.annotated(name, &json!([element]).to_string(), cause, remedy)
    }

    fn pod(&mut self, pod: Value, cause: &'static str, remedy: &'static str) -> &mut Mistake {
        self.all.push(Mistake { pod, cause, remedy, event: "" });
        self.all.last_mut().unwrap()
    }

    /// A pod that the scheduler has to place, with these parts of its container.
    fn unscheduled(&mut self, name: &str, limits: &Value, cause: &'static str, remedy: &'static str) -> &mut Mistake {
        let mut pod = sleeping_pod(self.scene, name, VETH);
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["spec"]["containers"][0]["resources"] = json!({"limits": limits});
        self.pod(pod, cause, remedy)
    }

    fn claiming(&mut self, name: &str, claim: &Value, cause: &'static str, remedy: &'static str) -> &mut Mistake {
        let mut pod = pod_without_volume(self.scene, name, "");
        pod["metadata"].as_object_mut().unwrap().remove("annotations");
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["spec"]["resourceClaims"] = json!([claim]);
        pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "uplink"}]);
        self.pod(pod, cause, remedy)
    }
}

impl Mistake {
    fn event(&mut self, words: &'static str) {
        self.event = words;
    }
}

fn of_annotations(mistakes: &mut Mistakes<'_>) {
    let reserved = format!("{VETH}@eth0");
    mistakes.annotated("eth0", &reserved, "InterfaceNameInvalid", "use another name").event("already exists");
    let long = format!("{VETH}@abcdefghijklmnopqrstuvwxyz");
    mistakes.annotated("long", &long, "InterfaceNameInvalid", "use another name").event("interface name");
    let twice = format!("{VETH},{VETH}@net1");
    mistakes.annotated("twice", &twice, "InterfaceNameTwice", "a name of its own").event("net1 already exists");
    let route = json!({"name": VETH, "default-route": ["10.56.92.1"]});
    let routes = json!([route, route]).to_string();
    mistakes.annotated("routes", &routes, "DefaultRouteTwice", "leave default-route").event("does not support ECMP");
    let rate = json!({"bandwidth": {"ingressRate": "10M"}});
    mistakes.element("rate", &rate, "AnnotationInvalid", "write \"ingressRate\": 10000000").event("cannot unmarshal");
    let text = json!({"ips": "10.56.92.20"});
    mistakes.element("ips", &text, "AnnotationInvalid", "write \"ips\": [").event("cannot unmarshal");
    let wrong = json!({"ips": ["10.56.92.777"]});
    mistakes.element("ip", &wrong, "AnnotationInvalid", "correct ips").event("failed to parse IP address");
    mistakes.element("mac", &json!({"mac": "02:00"}), "AnnotationInvalid", "six pairs").event("mac");
    mistakes.annotated("capital", "Ask-Wrong", "AnnotationInvalid", "write ask-wrong if").event("mismatch");
    mistakes.annotated("json", "[{", "AnnotationInvalid", "correct it");
    mistakes.annotated("typo", "ask-wrong-vet", "UnknownNetwork", "write ask-wrong-veth if").event("cannot find");
    let outside = json!({"ips": ["10.9.9.9"]});
    mistakes
        .element("outside", &outside, "AddressOutsideRange", "such as 10.56.92.30")
        .event("this node assigns 10.56.92.20 to 10.56.92.30");
    let gateway = json!({"ips": ["10.56.92.1"]});
    mistakes.element("gateway", &gateway, "AddressOfGateway", "request an address of the ranges");
    let taken = json!({"ips": ["10.56.92.25"]});
    mistakes.element("taken", &taken, "InvalidConfiguration", "correct the pod's annotation");
    let mut other_key = sleeping_pod(mistakes.scene, "key", "");
    other_key["metadata"]["annotations"] = json!({"k8s.v1.cni.cncf.io/network": VETH});
    mistakes.pod(other_key, "NoNetworkSelected", "k8s.v1.cni.cncf.io/networks: blue");
}

fn of_pods(mistakes: &mut Mistakes<'_>) {
    let scene = mistakes.scene;
    mistakes.pod(pod_without_volume(scene, "novolume", NAME), "NoVolume", "volumes: [{name: usnet, emptyDir: {}}]");
    let mut unmounted = sleeping_pod(scene, "unmounted", NAME);
    unmounted["spec"]["containers"][0]["volumeMounts"] = json!([]);
    mistakes.pod(unmounted, "VolumeNotMounted", "add volumeMounts").event("that a container mounts");
    let mut host_path = sleeping_pod(scene, "hostpath", NAME);
    host_path["spec"]["volumes"] = json!([{"name": "usnet", "hostPath": {"path": "/tmp"}}]);
    mistakes.pod(host_path, "VolumeNotEmptyDir", "emptyDir: {}");
    mistakes.annotated("elsewhere", ELSEWHERE, "NodeNotSelected", "give the pod the same nodeSelector");
    mistakes.annotated("full", FULL, "AddressesExhausted", "extend the ranges");
    let mut host = sleeping_pod(scene, "host", VETH);
    host["spec"]["hostNetwork"] = json!(true);
    mistakes.pod(host, "HostNetwork", "remove hostNetwork");
    let mut image = sleeping_pod(scene, "image", VETH);
    image["spec"]["containers"][0]["image"] = json!("none:e2e");
    mistakes.pod(image, "ProgramNotRunning", "kubectl describe pod");
    let mut volume = sleeping_pod(scene, "config", VETH);
    let volumes = json!([{"name": "usnet", "emptyDir": {}}, {"name": "config", "configMap": {"name": "none"}}]);
    volume["spec"]["volumes"] = volumes;
    volume["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "config", "mountPath": "/config"}]);
    mistakes.pod(volume, "FailedMount", "kubectl describe pod");
    mistakes.unscheduled("blu", &json!({"usnet.dev/ask-wrong-vet": 1}), "UnknownResource", "usnet.dev/ask-wrong-veth");
    mistakes.unscheduled("nodev", &json!({"usnet.dev/ask-wrong-veth": 1}), "NoDevices", "set spec.devicePlugin");
    mistakes.unscheduled("large", &json!({"cpu": "900"}), "NotScheduled", "change the pod's requirements");
}

fn of_claims(mistakes: &mut Mistakes<'_>) {
    let template = |name: &str, class: &str| {
        let request = json!({"name": "port", "exactly": {"deviceClassName": class}});
        apply(&json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": NAME}, "spec": {"spec": {"devices": {"requests": [request]}}},
        }));
        json!({"name": "uplink", "resourceClaimTemplateName": name})
    };
    let misspelt = template("misspelt", "usnet-ask-wrong-clame");
    mistakes.claiming("class", &misspelt, "DeviceClassMissing", "deviceClassName: usnet-ask-wrong-claim");
    let missing = json!({"name": "uplink", "resourceClaimTemplateName": "none"});
    mistakes.claiming("template", &missing, "ClaimMissing", "kubectl get resourceclaimtemplates");
    let named = json!({"name": "uplink", "resourceClaimName": "none"});
    mistakes.claiming("claim", &named, "ClaimMissing", "ResourceClaim");
    let refused = template("refused", "usnet-ask-wrong-claim");
    mistakes.claiming("refused", &refused, "NamespaceNotSelected", "kubectl label namespace");
}

#[test]
fn each_mistake_of_a_pod_is_explained_with_what_to_do() {
    let scene = Scene::new(NAME);
    let range = |subnet: &str, start: &str, end: &str| {
        let range = json!({"subnet": subnet, "rangeStart": start, "rangeEnd": end});
        json!({"type": "host-local", "ranges": [[range]]})
    };
    scene.network(NAME, &json!({}));
    let ipam = range("10.56.92.0/24", "10.56.92.20", "10.56.92.30");
    scene.network(VETH, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    let on_b = json!({"matchLabels": {"kubernetes.io/hostname": "node-b"}});
    scene.network(ELSEWHERE, &json!({"port": {"type": "Veth"}, "nodeSelector": on_b}));
    let ipam = range("10.56.93.0/24", "10.56.93.9", "10.56.93.9");
    scene.network(FULL, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    let holder = json!([{"name": VETH, "ips": ["10.56.92.25/24"]}, {"name": FULL}]).to_string();
    start(&scene, &sleeping_pod(&scene, "holder", &holder));

    let mut mistakes = Mistakes { scene: &scene, all: Vec::new() };
    of_annotations(&mut mistakes);
    of_pods(&mut mistakes);
    if is_supported() {
        let other = json!({"matchLabels": {"scene": "another"}});
        scene.apply_network(CLAIMED, &json!({"namespaceSelector": other, "resourceClaims": {"ports": 4}}));
        of_claims(&mut mistakes);
    }
    let pods: Vec<&Value> = mistakes.all.iter().map(|mistake| &mistake.pod).collect();
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": pods}));
    let applied = Instant::now();
    for Mistake { pod, cause, remedy, event } in &mistakes.all {
        let name = text(&pod["metadata"], "name");
        let told = eventually(&format!("the cause of {name}"), || {
            let (status, report) = ask(&["explain", "pod", name, "-n", NAME]);
            assert_ne!(status, 0, "{report}");
            let found = list(&report, "findings").iter().find(|found| found["cause"] == *cause);
            check(found.is_some_and(|found| text(found, "remedy").contains(remedy)), report.to_string())?;
            Ok(applied.elapsed())
        });
        scene.await_refusal(name, &[event]);
        println!("{name}: {cause}, {:.1} s", told.as_secs_f64());
    }
    println!("{} mistakes", mistakes.all.len());
}
