//! What may not be done with stolen tokens, and by which guard: each request is refused, still
//! refused without any one of its guards if it has two, and carried out (as a dry run) once none is
//! left. So it is the guard that refuses, and not a mistake in the request.
//!
//! The guards are the roles, which are taken out by giving more, and the admission policies, which
//! are taken out with their bindings.

use crate::resource_claims;
use crate::support::cluster::{apply, check, eventually, get, kubectl, try_run};
use crate::support::control_plane::tokens::Thief::{self, Administrator, Agent, AgentWithoutNode, Controller};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::uplinks::{Uplink, nowhere};
use serde_json::{Value, json};

/// The admission policies: who may write what of node states, of compiled networks and of slices of
/// nodes, what agents may write of node states and of pods, what the controller may write of
/// definitions, of networks, of uplinks and of attachments. The last ones exist where Kubernetes
/// has resource claims: [`OF_CLAIMS`] policies of devices of nodes, in slices and in the status of
/// claims, and of their classes.
const POLICIES: [&str; 12] = [
    "usnet-node-state-writers",
    "usnet-compiled-network-writers",
    "usnet-node-slice-writers",
    "usnet-agent-own-node-only",
    "usnet-agent-annotations-of-own-pods-only",
    "usnet-controller-own-definitions-only",
    "usnet-controller-networks-of-definitions-only",
    "usnet-controller-uplinks-of-users",
    "usnet-controller-attachments-of-users",
    "usnet-agent-own-slices-only",
    "usnet-agent-own-devices-only",
    "usnet-controller-own-classes-only",
];

const OF_CLAIMS: usize = 3;

/// A request that has to be refused.
#[derive(Clone)]
struct Attack {
    thief: Thief,
    arguments: Vec<&'static str>,
    input: String,
    /// Whether the thief's role does not allow it.
    by_role: bool,
    /// Whether a policy does not.
    by_policy: bool,
}

impl Attack {
    /// A server-side apply, which asks for nothing but `patch` (and `create` where there is no
    /// object).
    fn apply(thief: Thief, part: &'static str, object: &Value) -> Self {
        let mut arguments =
            vec!["apply", "--server-side", "--force-conflicts", "--field-manager=thief", "--validate=false"];
        arguments.extend((!part.is_empty()).then_some(part));
        arguments.extend(["--dry-run=server", "-f", "-"]);
        Self { thief, arguments, input: object.to_string(), by_role: false, by_policy: false }
    }

    fn words(thief: Thief, words: &'static str) -> Self {
        let arguments = words.split(' ').collect();
        Self { thief, arguments, input: String::new(), by_role: false, by_policy: false }
    }

    fn role(self) -> Self {
        Self { by_role: true, ..self }
    }

    fn policy(self) -> Self {
        Self { by_policy: true, ..self }
    }

    fn tell(&self) -> String {
        format!("{:?}: kubectl {} {}", self.thief, self.arguments.join(" "), self.input)
    }

    /// Tries it and complains if it does not go as it should.
    fn try_it(&self, is_refused: bool) -> Result<(), String> {
        match self.thief.kubectl(&self.arguments, &self.input) {
            Ok(_) => check(!is_refused, format!("{} was carried out", self.tell())),
            Err(answer) => {
                let says_so = answer.contains("Forbidden") || answer.contains("forbidden");
                check(is_refused && says_so, format!("{}: {answer}", self.tell()))
            }
        }
    }
}

fn node_state(node: &str, part: &str, content: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": node}, part: content,
    })
}

/// A compiled network; the one called `guards` is there, with another MTU.
fn compiled(name: &str) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledNetwork", "metadata": {"name": name},
        "spec": {
            "generation": 1, "engine": "OVS", "bridge": {"name": format!("br-{name}"), "mtu": 1300},
            "port": {"type": "VhostUser", "queues": 1},
        },
    })
}

/// An attachment of the pod `own`; there is none of that name.
fn attachment() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": "made", "namespace": "guards"},
        "spec": {"pod": "own", "network": "guards", "interface": "net7"},
    })
}

/// A request for a node of an interface that no attachment names.
fn requested_interface() -> Value {
    json!({"attachments": [{
        "uid": "0", "namespace": "guards", "name": "made", "pod": "others", "podUID": "0", "network": "guards",
        "interface": "net7",
    }]})
}

/// A slice of nodes; there is none of that name.
fn node_slice() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeSlice", "metadata": {"name": "nodes-9"},
        "spec": {"nodes": [{"name": "node-a", "number": 900, "addresses": ["192.0.2.1"]}]},
    })
}

fn definition(namespace: &str, name: &str, kind: &str) -> Value {
    let config = json!({"cniVersion": "1.0.0", "type": kind}).to_string();
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace, "labels": {"usnet.dev/network": name}},
        "spec": {"config": config},
    })
}

const MAPPED_DIR: &str = "userspace/mapped-dir";

/// A change of a pod in the namespace `guards` by its status.
fn status_of_pod(thief: Thief, name: &str, change: &Value) -> Attack {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    for (part, content) in change.as_object().unwrap() {
        pod[part] = content.clone();
    }
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = "guards".into();
    Attack::apply(thief, "--subresource=status", &pod)
}

/// What the controller would make for the network `guards`, but for the resource.
fn with_resource_of_others() -> Value {
    let mut made = definition("guards", "guards", "userspace");
    made["metadata"]["annotations"] = json!({"k8s.v1.cni.cncf.io/resourceName": "vendor.example/nic"});
    made["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": "guards", "uid": "0",
    }]);
    made["spec"]["config"] = json!(usnet_crds::nad::config(&"guards".parse().unwrap()));
    made
}

/// A network for all namespaces.
fn network(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name, "labels": labels},
        "spec": {"engine": "OVS", "namespaceSelector": {}},
    })
}

/// All that is tried. The namespace `guards` has a definition `foreign`, a network `guards`, and
/// pods `own` on node-a and `others` on node-b.
fn attacks() -> Vec<Attack> {
    let status = |thief, node| {
        let summary = json!({"summary": {"engines": "x"}});
        Attack::apply(thief, "--subresource=status", &node_state(node, "status", &summary))
    };
    let spec =
        |thief, node| Attack::apply(thief, "", &node_state(node, "spec", &json!({"labels": {"usnet.dev/x": "y"}})));
    let mut attacks = [compiled_network_attacks(), resource_claim_attacks(), attachment_attacks()].concat();
    attacks.extend(vec![
        status(Agent("node-a"), "node-b").policy(),
        status(AgentWithoutNode, "node-a").policy(),
        status(Controller, "node-a").role().policy(),
        status(Administrator, "node-a").policy(),
        spec(Agent("node-a"), "node-a").role().policy(),
        spec(Agent("node-a"), "node-b").role().policy(),
        spec(Agent("node-a"), "node-z").role().policy(),
        spec(Administrator, "node-a").policy(),
        Attack::words(Agent("node-a"), "delete usns node-a --wait=false --dry-run=server").role().policy(),
        Attack::words(Administrator, "delete usns node-a --wait=false --dry-run=server").policy(),
        Attack::apply(Controller, "", &definition("guards", "made", "bridge")).policy(),
        Attack::apply(Controller, "", &definition("guards", "foreign", "bridge")).policy(),
        Attack::apply(Controller, "", &definition("guards", "guards", "bridge")).policy(),
        Attack::apply(Controller, "", &with_resource_of_others()).policy(),
        Attack::words(Controller, "delete net-attach-def foreign -n guards --wait=false --dry-run=server").policy(),
        Attack::words(Agent("node-a"), "get secrets -A").role(),
        Attack::words(Agent("node-a"), "get pods -A").role(),
        Attack::words(Agent("node-a"), "get userspacenetworks").role(),
        Attack::words(Agent("node-a"), "get net-attach-def -A").role(),
        Attack::words(Agent("node-a"), "delete node node-b --wait=false --dry-run=server").role(),
        Attack::words(Agent("node-a"), "label node node-b x=y --dry-run=server").role(),
        Attack::words(Agent("node-a"), "label pods --all -n usnet-system x=y --dry-run=server").role().policy(),
        Attack::words(Agent("node-a"), "delete pod own -n guards --wait=false --dry-run=server").role().policy(),
        status_of_pod(Agent("node-a"), "others", &json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}})).policy(),
        status_of_pod(AgentWithoutNode, "own", &json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"annotations": {"x": "y"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"labels": {"x": "y"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"finalizers": ["x.y/z"]}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"status": {"reason": "x"}})).policy(),
        Attack::words(Controller, "get secrets -A").role(),
        Attack::words(Controller, "label node node-b x=y --dry-run=server").role(),
        Attack::words(Controller, "label pods --all -n usnet-system x=y --dry-run=server").role(),
        Attack::words(Controller, "delete usn guards --wait=false --dry-run=server").policy(),
        Attack::apply(Agent("node-a"), "", &nowhere("guards", &["9"])).role(),
        Attack::apply(Controller, "", &nowhere("guards", &["9"])).policy(),
        Attack::words(Controller, "delete usu guards --wait=false --dry-run=server").role().policy(),
        Attack::apply(Controller, "", &network("made", &json!({}))).policy(),
        Attack::apply(Controller, "", &network("guards", &json!({}))).policy(),
        Attack::apply(Controller, "", &network("guards", &json!({"usnet.dev/from-nad": "true"}))).policy(),
    ]);
    attacks
}

fn attachment_attacks() -> Vec<Attack> {
    let request = |thief, node| Attack::apply(thief, "", &node_state(node, "spec", &requested_interface()));
    vec![
        Attack::apply(Controller, "", &attachment()).role().policy(),
        Attack::words(Controller, "delete usna foreign -n guards --wait=false --dry-run=server").role().policy(),
        Attack::words(Controller, "get pods -A").role(),
        Attack::words(Agent("node-a"), "get usna -A").role(),
        Attack::apply(Agent("node-a"), "", &attachment()).role(),
        request(Agent("node-a"), "node-a").role().policy(),
        request(Agent("node-a"), "node-b").role().policy(),
        request(Administrator, "node-a").policy(),
    ]
}

fn compiled_network_attacks() -> Vec<Attack> {
    vec![
        Attack::apply(Agent("node-a"), "", &compiled("guards")).role().policy(),
        Attack::apply(Agent("node-a"), "", &compiled("made")).role().policy(),
        Attack::words(Agent("node-a"), "delete ucn guards --wait=false --dry-run=server").role().policy(),
        Attack::apply(Administrator, "", &compiled("guards")).policy(),
        Attack::apply(Administrator, "", &compiled("made")).policy(),
        Attack::words(Administrator, "delete ucn guards --wait=false --dry-run=server").policy(),
        Attack::apply(Agent("node-a"), "", &node_slice()).role().policy(),
        Attack::apply(Administrator, "", &node_slice()).policy(),
    ]
}

/// Devices of a node.
fn resource_slice(node: &str, driver: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "guards"},
        "spec": {"driver": driver, "nodeName": node, "devices": [],
                 "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}},
    })
}

/// A class of devices of a driver.
fn device_class(name: &str, network: &str, driver: &str) -> Value {
    let expression = format!("device.driver == \"{driver}\" && true");
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": name, "labels": {"usnet.dev/network": network}},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    })
}

/// The devices that the claim `guards` has.
const ALLOCATED: [(&str, &str); 2] = [("usnet.dev", "node-b"), ("gpu.example", "node-a")];

/// Creates a claim to which devices are allocated, as a scheduler would.
fn allocate_claim() {
    let results =
        ALLOCATED.map(|(driver, pool)| json!({"request": "port", "driver": driver, "pool": pool, "device": "x"}));
    let mut claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "guards", "namespace": "guards"},
        "spec": {"devices": {"requests": [{"name": "port", "exactly": {
            "deviceClassName": "usnet", "allocationMode": "ExactCount", "count": results.len(),
        }}]}},
    });
    apply(&claim);
    claim["status"] = json!({"allocation": {"devices": {"results": results}}});
    let write = ["apply", "--server-side", "--subresource=status", "-f", "-"];
    try_run("kubectl", &write, &claim.to_string()).unwrap();
}

/// A part of that claim's status.
fn claim_status(thief: Thief, status: &Value) -> Attack {
    Attack::apply(
        thief,
        "--subresource=status",
        &json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "guards", "namespace": "guards"},
            "status": status,
        }),
    )
}

fn resource_claim_attacks() -> Vec<Attack> {
    if !resource_claims::is_served() {
        return Vec::new();
    }
    let devices = ALLOCATED.map(|(driver, pool)| {
        let device = json!({"driver": driver, "pool": pool, "device": "x", "networkData": {"interfaceName": "forged"}});
        claim_status(Agent("node-a"), &json!({"devices": [device]})).role().policy()
    });
    let reserved = json!({"reservedFor": [{"resource": "pods", "name": "own", "uid": "0"}]});
    let mut attacks = vec![
        claim_status(Agent("node-a"), &reserved).role().policy(),
        Attack::apply(Agent("node-a"), "", &resource_slice("node-b", "usnet.dev")).policy(),
        Attack::apply(Agent("node-a"), "", &resource_slice("node-a", "gpu.example")).policy(),
        Attack::apply(AgentWithoutNode, "", &resource_slice("node-a", "usnet.dev")).policy(),
        Attack::words(Agent("node-a"), "get resourceclaims -A").role(),
        Attack::apply(Agent("node-a"), "", &device_class("usnet-made", "made", "usnet.dev")).role(),
        Attack::apply(Controller, "", &resource_slice("node-a", "usnet.dev")).role(),
        Attack::apply(Controller, "", &device_class("gpu", "made", "usnet.dev")).policy(),
        Attack::apply(Controller, "", &device_class("usnet-made", "made", "gpu.example")).policy(),
        Attack::words(Controller, "delete deviceclass usnet --wait=false --dry-run=server").policy(),
    ];
    attacks.extend(devices);
    attacks
}

/// Policies without bindings, until this is dropped.
struct WithoutPolicies(Vec<Value>);

impl WithoutPolicies {
    fn new() -> Self {
        let of_claims = if resource_claims::is_served() { 0 } else { OF_CLAIMS };
        let bindings = POLICIES.iter().take(POLICIES.len() - of_claims).map(|name| {
            let binding = get(&["validatingadmissionpolicybinding", name]).expect("config/ is applied");
            kubectl(&["delete", "validatingadmissionpolicybinding", name]);
            json!({
                "apiVersion": binding["apiVersion"], "kind": binding["kind"], "metadata": {"name": name}, "spec": binding["spec"],
            })
        });
        Self(bindings.collect())
    }
}

impl Drop for WithoutPolicies {
    fn drop(&mut self) {
        self.0.iter().for_each(apply);
    }
}

/// Service accounts of usnet that may do everything, until this is dropped.
struct WithoutRoles;

impl WithoutRoles {
    fn new() -> Self {
        let accounts = ["usnet-agent", "usnet-controller"]
            .map(|name| json!({"kind": "ServiceAccount", "name": name, "namespace": "usnet-system"}));
        apply(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "guards-test"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": accounts,
        }));
        Self
    }
}

impl Drop for WithoutRoles {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "clusterrolebinding", "guards-test"], "");
    }
}

/// Waits until all attacks go as they should with the guards that are left; the API server learns
/// of a changed guard a moment later.
fn expect_all(attacks: &[Attack], roles: bool, policies: bool) {
    for attack in attacks {
        let is_refused = (roles && attack.by_role) || (policies && attack.by_policy);
        eventually(&format!("with roles {roles}, with policies {policies}"), || attack.try_it(is_refused));
    }
}

#[test]
fn each_guard_refuses_by_itself_and_without_guards_the_requests_work() {
    let scene = Scene::new("guards");
    scene.network("guards", &json!({}));
    let _uplink = Uplink::nowhere("guards", &["7"]);
    let mut foreign = definition("guards", "foreign", "ptp");
    foreign["metadata"]["labels"] = json!({});
    apply(&foreign);

    let mut other = attachment();
    other["metadata"]["name"] = json!("foreign");
    // Nothing is attached.
    other["spec"]["network"] = json!("nowhere");
    apply(&other);

    for (name, node) in [("own", "node-a"), ("others", "node-b")] {
        let mut pod = sleeping_pod(&scene, name, "");
        pod["spec"]["nodeName"] = node.into();
        start(&scene, &pod);
    }

    if resource_claims::is_served() {
        allocate_claim();
    }
    let attacks = attacks();
    expect_all(&attacks, true, true);
    let annotations = json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}});
    status_of_pod(Agent("node-a"), "own", &annotations).try_it(false).unwrap();
    Attack::words(Administrator, "label ucn guards x=y --dry-run=server").try_it(false).unwrap();
    {
        let _more_rights = WithoutRoles::new();
        expect_all(&attacks, false, true);
        let _fewer_policies = WithoutPolicies::new();
        expect_all(&attacks, false, false);
    }
    {
        let _fewer_policies = WithoutPolicies::new();
        expect_all(&attacks, true, false);
        apply(&node_state("node-nowhere", "spec", &json!({"number": 7})));
        eventually("the state of a node that is not there goes", || {
            check(get(&["usns", "node-nowhere"]).is_none(), "still there")
        });
    }
    expect_all(&attacks, true, true);
    assert_eq!(get(&["net-attach-def", "foreign", "-n", "guards"]).unwrap()["spec"], foreign["spec"]);
}

#[test]
fn the_words_of_a_policy_say_what_is_allowed() {
    let status = node_state("node-b", "status", &json!({"summary": {"engines": "x"}}));
    let cases = [
        (Attack::apply(Agent("node-a"), "--subresource=status", &status), "own node only"),
        (Attack::apply(AgentWithoutNode, "--subresource=status", &status), "own node only"),
        (Attack::apply(Administrator, "", &compiled("made")), "only the controller of usnet writes compiled networks"),
    ];
    for (attack, words) in cases {
        let answer = attack.thief.kubectl(&attack.arguments, &attack.input).unwrap_err();
        assert!(answer.contains(words), "{answer}");
    }
}
