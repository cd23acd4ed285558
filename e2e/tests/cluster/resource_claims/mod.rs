//! Ports by resource claims: the real scheduler, kubelet and container runtime, without Multus,
//! annotation or volume.

mod failures;
mod first;
mod lifecycle;
mod ports;
mod requests;
mod speed;

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node};
use crate::support::pods::{NODE, pod_without_volume, sleeping_pod};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, Program};
use serde_json::{Value, json};

/// The folder of the port in containers, with the names that [`with_claim`] gives.
const FOLDER: &str = "/run/usnet.dev/uplink/port";
/// Prints the metadata of the port in a container.
pub(crate) const METADATA: &str =
    "cat /var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/uplink/port/usnet.dev-metadata.json";

/// Whether Kubernetes supports resource claims. If not, this prints that the test is left out.
pub(crate) fn is_supported() -> bool {
    let is_supported = kubectl(&["api-versions"]).lines().any(|version| version == "resource.k8s.io/v1");
    if !is_supported {
        println!("left out: this Kubernetes has no resource claims");
    }
    is_supported
}

/// Returns a network for one node, with ports for claims.
fn network(node: &str, engine: &str, ports: i64) -> Value {
    json!({
        "engine": engine, "resourceClaims": {"ports": ports},
        "nodeSelector": {"matchLabels": {"kubernetes.io/hostname": node}},
    })
}

/// The spec of a claim for a port of a network, by the network's class, or with parameters by the
/// class of all networks.
fn claim_spec(network: &str, parameters: &Value) -> Value {
    let class = format!("usnet-{network}");
    let mut spec = json!({"devices": {"requests": [{"name": "port", "exactly": {"deviceClassName": class}}]}});
    if parameters.is_object() {
        let expression = format!("device.attributes['usnet.dev'].network == '{network}'");
        spec["devices"]["requests"][0]["exactly"] =
            json!({"deviceClassName": "usnet", "selectors": [{"cel": {"expression": expression}}]});
        spec["devices"]["config"] = json!([self::parameters(parameters)]);
    }
    spec
}

/// Parameters in the config of a claim.
fn parameters(fields: &Value) -> Value {
    let mut parameters = fields.clone();
    parameters["apiVersion"] = json!("usnet.dev/v1alpha1");
    parameters["kind"] = json!("PortRequest");
    json!({"opaque": {"driver": "usnet.dev", "parameters": parameters}})
}

/// A template of claims.
pub(crate) fn template(scene: &Scene, name: &str, network: &str, parameters: &Value) {
    template_of(scene, name, &claim_spec(network, parameters));
}

/// A template of claims with this spec.
fn template_of(scene: &Scene, name: &str, spec: &Value) {
    apply(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": scene.name}, "spec": {"spec": spec},
    }));
}

/// Takes annotation and volume from a pod, and has it claim a port; the scheduler chooses its node.
fn with_claim(mut pod: Value, template: &str) -> Value {
    pod["metadata"].as_object_mut().unwrap().remove("annotations");
    pod["spec"]["volumes"] = json!([]);
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["resourceClaims"] = json!([{"name": "uplink", "resourceClaimTemplateName": template}]);
    let container = &mut pod["spec"]["containers"][0];
    container["volumeMounts"] = json!([]);
    container["resources"]["claims"] = json!([{"name": "uplink"}]);
    pod
}

/// A pod that requests the extended resource of a network, and has no claim, annotation or volume.
fn with_resource(scene: &Scene, name: &str, network: &str) -> Value {
    let mut pod = pod_without_volume(scene, name, "");
    pod["metadata"].as_object_mut().unwrap().remove("annotations");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["containers"][0]["resources"]["limits"][format!("usnet.dev/{network}")] = json!(1);
    pod
}

pub(crate) fn claiming_pod(scene: &Scene, name: &str, template: &str) -> Value {
    with_claim(sleeping_pod(scene, name, ""), template)
}

/// A pod whose DPDK program drives the port of its claim.
fn dpdk_pod(scene: &Scene, name: &str, template: &str, mode: &str, driver: Driver) -> Value {
    let program = Program::new(driver, mode);
    let mut pod = crate::support::pods::dpdk_pod(scene, name, "", program);
    let command = program
        .command(1)
        .into_iter()
        .map(|word| word.replace("/run/usnet/net1.sock", &format!("{FOLDER}/claim1.sock")));
    // DPDK does not listen at a socket that an earlier container has left.
    let start = format!("rm -f {FOLDER}/claim1.sock; exec \"$@\"");
    let start = if driver == Driver::VhostServer { start } else { "exec \"$@\"".to_owned() };
    let shell = ["sh".to_owned(), "-c".to_owned(), start, "sh".to_owned()];
    pod["spec"]["containers"][0]["command"] = json!(shell.into_iter().chain(command).collect::<Vec<_>>());
    with_claim(pod, template)
}

/// The devices of the slices of a node.
fn devices(node: &str) -> Vec<Value> {
    let slices = get(&["resourceslices", "--field-selector", &format!("spec.nodeName={node},spec.driver=usnet.dev")]);
    let items = slices.as_ref().and_then(|list| list["items"].as_array().cloned()).unwrap_or_default();
    items.iter().flat_map(|slice| slice["spec"]["devices"].as_array().cloned().unwrap_or_default()).collect()
}

/// The devices of a network on a node: one, or with Kubernetes that shares none, one for each port.
fn devices_of(node: &str, network: &str) -> Vec<Value> {
    let is_of_network = |device: &Value| device["attributes"]["network"]["string"] == json!(network);
    devices(node).into_iter().filter(is_of_network).collect()
}

#[track_caller]
pub(crate) fn await_device(node: &str, network: &str) {
    eventually("the network's device", || check(!devices_of(node, network).is_empty(), format!("{:?}", devices(node))));
}

/// The claim of a pod.
pub(crate) fn claim_of(scene: &Scene, pod: &str) -> Value {
    let pod = get(&["pod", pod, "-n", &scene.name]).unwrap();
    let name = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].as_str().unwrap().to_owned();
    get(&["resourceclaim", &name, "-n", &scene.name]).unwrap()
}

/// What claims have left on a node.
fn remains(node: &str) -> String {
    let script = "ls /var/lib/usnet/claims /run/usnet/claims /run/usnet/claim-metadata /var/run/cdi 2>/dev/null | grep -v ':$' | grep .; \
        ls /var/lib/usnet/attachments | grep ^claim-; grep -h '/run/usnet/claims' /proc/self/mountinfo; true";
    on_node(node, &["sh", "-c", script])
}

#[track_caller]
pub(crate) fn await_nothing_left(node: &str) {
    eventually("nothing is left of claims", || {
        let found = remains(node);
        check(found.trim().is_empty(), found)
    });
}

fn node_of(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()
}

/// Returns a network for [`NODE`], with ports for claims.
pub(crate) fn network_on_node(engine: &str, ports: i64) -> Value {
    network(NODE, engine, ports)
}
