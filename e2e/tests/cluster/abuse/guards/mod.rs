//! What may not be done with stolen tokens, and by which guard: each request is refused, still
//! refused without any one of its guards if it has two, and carried out (as a dry run) once none is
//! left. So it is the guard that refuses, and not a mistake in the request.
//!
//! The guards are the roles, which are taken out by giving more, and the admission policies, which
//! are taken out with their bindings.

mod attack;
mod attacks;
mod claims;
mod objects;
mod removal;

use crate::resource_claims;
use crate::support::cluster::{apply, check, eventually, get};
use crate::support::control_plane::tokens::RequestClient::{Administrator, Agent, AgentWithoutNode};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::uplinks::Uplink;
use attack::Attack;
use attacks::{MAPPED_DIR, attacks, status_of_pod};
use claims::allocate_claim;
use objects::{attachment, compiled, compiled_policy, definition, node_state, policy};
use removal::{WithoutPolicies, WithoutRoles};
use serde_json::json;

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

    if resource_claims::is_supported() {
        allocate_claim();
    }
    apply(&policy());
    eventually("the compiled policy", || check(get(&["ucp", "guards.guards"]).is_some(), "there is none"));
    let attacks = attacks();
    expect_all(&attacks, true, true);
    let annotations = json!({"metadata": {"annotations": {MAPPED_DIR: "/x/"}}});
    status_of_pod(Agent("node-a"), "own", &annotations).try_it(false).unwrap();
    Attack::label(Administrator, ("ucn", "", "guards")).try_it(false).unwrap();
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
fn the_message_of_a_policy_says_what_is_allowed() {
    let status = node_state("node-b", "status", &json!({"summary": {"engines": "x"}}));
    let cases = [
        (Attack::apply(Agent("node-a"), "status", &status), "own node only"),
        (Attack::apply(AgentWithoutNode, "status", &status), "own node only"),
        (Attack::apply(Administrator, "", &compiled("made")), "only the controller of usnet writes compiled networks"),
        (Attack::apply(Administrator, "", &compiled_policy("made")), "only the controller of policies of usnet writes"),
    ];
    for (attack, words) in cases {
        let answer = attack.send().unwrap_err();
        assert!(answer.contains(words), "{answer}");
    }
}
