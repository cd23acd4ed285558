//! All that is tried. The namespace `guards` has a definition `foreign`, a network `guards`, and
//! pods `own` on node-a and `others` on node-b.

use super::attack::Attack;
use super::claims::resource_claim_attacks;
use super::objects::{
    attachment, compiled, definition, network, node_slice, node_state, requested_interface, with_resource_of_others,
};
use crate::support::control_plane::tokens::RequestClient::{self, Administrator, Agent, AgentWithoutNode, Controller};
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
    Attack::apply(thief, "--subresource=status", &pod)
}

pub(crate) fn attacks() -> Vec<Attack> {
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
