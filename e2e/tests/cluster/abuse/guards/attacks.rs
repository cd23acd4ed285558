//! All that is tried. The namespace `guards` has a definition `foreign`, a network `guards`, and
//! pods `own` on node-a and `others` on node-b.

use super::attack::Attack;
use super::claims::resource_claim_attacks;
use super::objects::{
    attachment, compiled, compiled_policy, definition, network, node_slice, node_state, pod_slice, requested_interface,
    with_resource_of_others,
};
use crate::support::control_plane::tokens::RequestClient::{self, Administrator, Agent, AgentWithoutNode, Controller};
use crate::support::scene::agent_pod;
use crate::support::uplinks::nowhere;
use serde_json::{Value, json};

pub(crate) const MAPPED_DIR: &str = "userspace/mapped-dir";

/// A change of a pod in the namespace `guards` by its status.
pub(crate) fn status_of_pod(thief: RequestClient, name: &str, change: &Value) -> Attack {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    for (part, content) in change.as_object().unwrap() {
        pod[part] = content.clone();
    }
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = "guards".into();
    Attack::apply(thief, "status", &pod)
}

pub(crate) fn attacks() -> Vec<Attack> {
    let status = |thief, node| {
        let summary = json!({"summary": {"engines": "x"}});
        Attack::apply(thief, "status", &node_state(node, "status", &summary))
    };
    let spec =
        |thief, node| Attack::apply(thief, "", &node_state(node, "spec", &json!({"labels": {"usnet.dev/x": "y"}})));
    let mut attacks = [compiled_attacks(), resource_claim_attacks(), attachment_attacks()].concat();
    attacks.extend(vec![
        status(Agent("node-a"), "node-b").policy(),
        status(AgentWithoutNode, "node-a").policy(),
        status(Controller, "node-a").role().policy(),
        status(Administrator, "node-a").policy(),
        spec(Agent("node-a"), "node-a").role().policy(),
        spec(Agent("node-a"), "node-b").role().policy(),
        spec(Agent("node-a"), "node-z").role().policy(),
        spec(Administrator, "node-a").policy(),
        Attack::delete(Agent("node-a"), ("usns", "", "node-a")).role().policy(),
        Attack::delete(Administrator, ("usns", "", "node-a")).policy(),
        Attack::apply(Controller, "", &definition("guards", "made", "bridge")).policy(),
        Attack::apply(Controller, "", &definition("guards", "foreign", "bridge")).policy(),
        Attack::apply(Controller, "", &definition("guards", "guards", "bridge")).policy(),
        Attack::apply(Controller, "", &with_resource_of_others()).policy(),
        Attack::delete(Controller, ("net-attach-def", "guards", "foreign")).policy(),
        Attack::list(Agent("node-a"), "secrets").role(),
        Attack::list(Agent("node-a"), "pods").role(),
        Attack::list(Agent("node-a"), "userspacenetworks").role(),
        Attack::list(Agent("node-a"), "net-attach-def").role(),
        Attack::delete(Agent("node-a"), ("node", "", "node-b")).role(),
        Attack::label(Agent("node-a"), ("node", "", "node-b")).role(),
        Attack::label(Agent("node-a"), ("pod", "usnet-system", &agent_pod("node-a"))).role().policy(),
        Attack::delete(Agent("node-a"), ("pod", "guards", "own")).role().policy(),
        status_of_pod(Agent("node-a"), "others", &json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}})).policy(),
        status_of_pod(AgentWithoutNode, "own", &json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"annotations": {"x": "y"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"labels": {"x": "y"}}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"metadata": {"finalizers": ["x.y/z"]}})).policy(),
        status_of_pod(Agent("node-a"), "own", &json!({"status": {"reason": "x"}})).policy(),
        Attack::list(Controller, "secrets").role(),
        Attack::label(Controller, ("node", "", "node-b")).role(),
        Attack::label(Controller, ("pod", "usnet-system", &agent_pod("node-a"))).role(),
        Attack::delete(Controller, ("usn", "", "guards")).policy(),
        Attack::apply(Agent("node-a"), "", &nowhere("guards", &["9"])).role(),
        Attack::apply(Controller, "", &nowhere("guards", &["9"])).policy(),
        Attack::delete(Controller, ("usu", "", "guards")).role().policy(),
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
        Attack::delete(Controller, ("usna", "guards", "foreign")).role().policy(),
        Attack::list(Controller, "pods").role(),
        Attack::list(Agent("node-a"), "usna").role(),
        Attack::apply(Agent("node-a"), "", &attachment()).role(),
        request(Agent("node-a"), "node-a").role().policy(),
        request(Agent("node-a"), "node-b").role().policy(),
        request(Administrator, "node-a").policy(),
    ]
}

fn compiled_attacks() -> Vec<Attack> {
    let policy = |thief, name: &str| Attack::apply(thief, "", &compiled_policy(name));
    vec![
        policy(Agent("node-a"), "guards.guards").role().policy(),
        policy(Agent("node-a"), "guards.made").role().policy(),
        policy(Controller, "guards.guards").role().policy(),
        policy(Administrator, "guards.guards").policy(),
        policy(Administrator, "guards.made").policy(),
        Attack::delete(Agent("node-a"), ("ucp", "", "guards.guards")).role().policy(),
        Attack::delete(Administrator, ("ucp", "", "guards.guards")).policy(),
        Attack::apply(Agent("node-a"), "", &compiled("guards")).role().policy(),
        Attack::apply(Agent("node-a"), "", &compiled("made")).role().policy(),
        Attack::delete(Agent("node-a"), ("ucn", "", "guards")).role().policy(),
        Attack::apply(Administrator, "", &compiled("guards")).policy(),
        Attack::apply(Administrator, "", &compiled("made")).policy(),
        Attack::delete(Administrator, ("ucn", "", "guards")).policy(),
        Attack::apply(Agent("node-a"), "", &pod_slice()).role().policy(),
        Attack::apply(Controller, "", &pod_slice()).role().policy(),
        Attack::apply(Administrator, "", &pod_slice()).policy(),
        Attack::apply(Agent("node-a"), "", &node_slice()).role().policy(),
        Attack::apply(Administrator, "", &node_slice()).policy(),
    ]
}
