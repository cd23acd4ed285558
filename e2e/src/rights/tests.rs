use super::*;
use serde_json::json;

fn event(verb: &str, resource: &str, code: u16, decision: &str) -> String {
    let event = json!({
        "kind": "Event", "verb": verb, "stage": "ResponseComplete",
        "user": {"username": "system:serviceaccount:usnet-system:usnet-agent"},
        "objectRef": {"resource": resource, "apiGroup": "usnet.dev", "name": "node-a"},
        "responseStatus": {"code": code},
        "annotations": {"authorization.k8s.io/decision": decision},
    });
    format!("{event}\n")
}

fn right(verb: &str, resource: &str) -> Right {
    Right {
        account: "usnet-agent".to_owned(),
        group: "usnet.dev".to_owned(),
        resource: resource.to_owned(),
        verb: verb.to_owned(),
        namespace: None,
        name: None,
    }
}

fn differences(grants: &[Right], log: &str) -> [Vec<String>; 2] {
    let found = compare(&grants.iter().cloned().collect(), &usage(log).unwrap());
    [found.unused, found.missing].map(|rights| rights.iter().map(Right::to_string).collect())
}

#[test]
fn a_right_that_was_used_is_neither_unused_nor_missing() {
    let log = event("list", "states", 200, "allow");
    assert_eq!(differences(&[right("list", "states")], &log), [const { Vec::<String>::new() }; 2]);
}

#[test]
fn unused_and_refused_rights_are_reported() {
    let log = event("list", "states", 200, "allow") + &event("get", "states", 403, "forbid");
    let [unused, missing] = differences(&[right("list", "states"), right("delete", "states")], &log);
    assert_eq!(unused, ["usnet-agent: delete states.usnet.dev"]);
    assert_eq!(missing, ["usnet-agent: get states.usnet.dev node-a"]);
}

#[test]
fn a_granted_right_is_not_missing_if_it_was_refused_once() {
    let log = event("list", "states", 200, "allow") + &event("list", "states", 403, "forbid");
    assert_eq!(differences(&[right("list", "states")], &log), [const { Vec::<String>::new() }; 2]);
}

#[test]
fn an_apply_uses_create_only_if_it_creates_the_object() {
    let grants = [right("patch", "states"), right("create", "states")];
    let [unused, _] = differences(&grants, &event("patch", "states", 200, "allow"));
    assert_eq!(unused, ["usnet-agent: create states.usnet.dev"]);
    assert_eq!(differences(&grants, &event("patch", "states", 201, "allow")), [const { Vec::<String>::new() }; 2]);
}

#[test]
fn a_right_to_one_object_is_not_used_by_requests_for_another() {
    let named = |name: &str| Right { name: Some(name.to_owned()), ..right("get", "states") };
    let [unused, _] = differences(&[named("node-a"), named("node-b")], &event("get", "states", 200, "allow"));
    assert_eq!(unused, ["usnet-agent: get states.usnet.dev node-b"]);
}

#[test]
fn requests_with_a_stolen_token_do_not_count() {
    let kubectl = event("get", "states", 200, "allow").replace("\"verb\"", "\"userAgent\":\"kubectl/v1\",\"verb\"");
    let other_account = event("get", "states", 200, "allow").replace("usnet-system:", "default:");
    let [unused, missing] =
        differences(&[right("get", "states")], &(kubectl.replace("allow", "forbid") + &kubectl + &other_account));
    assert_eq!((unused.len(), missing.len()), (1, 0));
}

#[test]
fn an_incomplete_last_line_is_ignored_and_an_invalid_line_is_named() {
    let whole = event("list", "states", 200, "allow");
    assert_eq!(usage(&format!("{whole}{{\"verb\":")).unwrap(), usage(&whole).unwrap());
    let error = usage(&format!("{whole}nonsense\n")).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn the_roles_of_this_checkout_can_be_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/rbac");
    let grants = grants(&folder).unwrap();
    assert!(
        grants.contains(&Right { resource: "userspacenodestates/status".to_owned(), ..right("patch", "") }),
        "{grants:?}"
    );
    assert!(grants.iter().all(|right| !right.to_string().contains('*')), "a wildcard grants more than is needed");
}
