use super::pruner::Pruner;
use super::rules;
use proptest::prelude::*;
use serde_json::{Value, json};
use usnet_crds::legacy::CONFIG_MAX;

const ATTACHMENTS: &str = "/apis/usnet.dev/v1alpha1/userspaceattachments";
const NADS: &str = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";

/// What is left of a text that arrives in pieces of this size.
fn pruned(path: &str, text: &str, size: usize) -> String {
    let mut pruner = Pruner::new(rules::of(path));
    let pieces = text.as_bytes().chunks(size).flat_map(|piece| pruner.push(piece));
    String::from_utf8(pieces.collect()).unwrap()
}

fn of_value(path: &str, value: &Value) -> Value {
    let text = value.to_string();
    let whole = pruned(path, &text, text.len());
    for size in [1, 2, 7] {
        assert_eq!(pruned(path, &text, size), whole, "in pieces of {size}");
    }
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("{error}: {whole}"))
}

/// An object whose metadata have everything that users can write.
fn object(spec: &Value) -> Value {
    json!({
        "kind": "X", "metadata": {
            "annotations": {"a": "1", "k8s.v1.cni.cncf.io/resourceName": "usnet.dev/a", "b": "\"}"},
            "finalizers": vec!["x/y"; 100], "generateName": "n", "labels": {"usnet.dev/network": "blue", "other": "x"},
            "managedFields": [{"fieldsV1": {"f:a": {}}, "manager": "}"}], "name": "n", "uid": "u",
            "ownerReferences": vec![json!({"kind": "Pod"}); 100],
        },
        "spec": spec, "status": {"conditions": [], "images": ["long"]},
    })
}

fn left(labels: &Value, annotations: &Value) -> Value {
    json!({
        "annotations": annotations, "finalizers": vec!["x/y"; 32], "labels": labels, "name": "n", "uid": "u",
        "ownerReferences": vec![json!({"kind": "Pod"}); 32],
    })
}

#[test]
fn what_is_not_used_is_removed_from_objects_lists_and_events() {
    let spec = json!({"pod": "web", "metadata": {"managedFields": 1}});
    let expected = json!({
        "kind": "X", "metadata": left(&json!({}), &json!({})), "spec": spec,
        "status": {"conditions": [], "images": ["long"]},
    });
    let whole = object(&spec);
    assert_eq!(of_value(ATTACHMENTS, &whole), expected);
    let list = json!({"metadata": {"continue": "x", "resourceVersion": "5"}, "items": [whole, whole]});
    let expected_list = json!({"metadata": {"continue": "x", "resourceVersion": "5"}, "items": [expected, expected]});
    assert_eq!(of_value(ATTACHMENTS, &list), expected_list);
    let events =
        format!("{}\n{}\n", json!({"type": "ADDED", "object": whole}), json!({"type": "BOOKMARK", "object": {}}));
    let lines = pruned(ATTACHMENTS, &events, 11);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, [json!({"type": "ADDED", "object": expected}), json!({"type": "BOOKMARK", "object": {}})]);
}

#[test]
fn of_other_kinds_what_is_used_is_left() {
    let nad = object(&json!({"config": "{\"a\": \"\\n\"}", "more": [1]}));
    let left_of_nad = json!({
        "kind": "X", "spec": {"config": "{\"a\": \"\\n\"}"}, "status": {},
        "metadata": left(&json!({"usnet.dev/network": "blue"}), &json!({"k8s.v1.cni.cncf.io/resourceName": "usnet.dev/a"})),
    });
    assert_eq!(of_value(NADS, &nad), left_of_nad);
    let node = of_value("/api/v1/nodes", &object(&json!({"podCIDR": "10.0.0.0/8"})));
    assert_eq!((&node["spec"], &node["status"]), (&json!({}), &json!({"conditions": []})));
    assert_eq!(node["metadata"]["labels"], json!({"usnet.dev/network": "blue", "other": "x"}));
    let pod = json!({"spec": {"nodeName": "n1", "containers": [{"env": []}]}, "status": {"phase": "Running", "x": 1}});
    let left_of_pod = json!({"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
    assert_eq!(of_value("/api/v1/namespaces/a/pods/b", &pod), left_of_pod);
    for path in ["/api/v1/namespaces/a/pods/b/status", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"] {
        assert_eq!(of_value(path, &pod), pod, "{path}");
    }
    let failed =
        json!({"kind": "Status", "status": "Failure", "metadata": {}, "details": {"causes": [{"reason": "R"}]}});
    let event = json!({"type": "ERROR", "object": failed});
    assert_eq!(of_value(NADS, &event), event);
}

#[test]
fn of_a_text_that_is_too_long_its_length_is_left() {
    let config = |character: &str, count: usize| {
        let value = json!({"spec": {"config": character.repeat(count)}});
        of_value(NADS, &value)["spec"]["config"].take()
    };
    for character in ["x", "\n", "\u{1}", "é"] {
        let most = CONFIG_MAX / character.len();
        assert_eq!(config(character, most), json!(character.repeat(most)));
        assert_eq!(config(character, most + 1), json!((most + 1) * character.len()), "{character:?}");
    }
    let long = json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/resourceName": "x".repeat(2000)}}});
    assert_eq!(of_value(NADS, &long), json!({"metadata": {"annotations": {}}}));
}

#[test]
fn what_is_no_object_is_passed_on() {
    for text in ["ok", "", "\n", "[1, 2]", "{\"metadata\": {\"name\": \"a\"", "null", "]"] {
        let compact: String = pruned(ATTACHMENTS, text, 3).split_whitespace().collect();
        let expected: String = text.split_whitespace().collect();
        assert_eq!(compact, expected);
    }
    assert_eq!(
        pruned(ATTACHMENTS, r#"{"metadata":null,"items":null,"spec":[7]}"#, 3),
        r#"{"metadata":null,"items":null,"spec":[7]}"#
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        "[a-c]",
        ".{0,3}",
        Just("metadata".to_owned()),
        Just("spec".to_owned()),
        Just("config".to_owned()),
        Just("items".to_owned()),
        Just("object".to_owned()),
        Just("labels".to_owned()),
        Just("finalizers".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_is_left_as_it_is_where_everything_is_used(value in any_value(), size in 1_usize..9, is_pretty: bool) {
        let text = if is_pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let left: Value = serde_json::from_str(&pruned("/apis/x.y/v1/others", &text, size)).unwrap();
        prop_assert_eq!(left, value);
    }

    #[test]
    fn whatever_is_pruned_is_an_object_still(value in any_value(), size in 1_usize..9) {
        for path in [ATTACHMENTS, NADS, "/api/v1/nodes", "/api/v1/namespaces/a/pods/b"] {
            let left: Result<Value, _> = serde_json::from_str(&pruned(path, &value.to_string(), size));
            prop_assert!(left.is_ok(), "{:?} of {}", left, value);
        }
    }

    #[test]
    fn any_bytes_are_read(bytes: Vec<u8>) {
        Pruner::new(rules::of(NADS)).push(&bytes);
    }
}
