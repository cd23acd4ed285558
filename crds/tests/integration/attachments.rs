//! Attachments, validated by the CEL rules of the CRD and by `validate` in Rust.

use crate::support::rejected;
use serde_json::{Value, json};
use usnet_crds::UserspaceAttachmentSpec;
use usnet_crds::attachment::validate::validate;

fn object(spec: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": "extra", "namespace": "db"}, "spec": spec,
    })
}

fn spec(changes: &Value) -> Value {
    let mut spec = json!({"pod": "web-0", "network": "blue", "interface": "net7"});
    for (field, value) in changes.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

fn by_cel(spec: &Value, old: Option<&Value>) -> Vec<String> {
    rejected(&object(spec), old.map(object).as_ref())
}

fn by_rust(spec: &Value) -> Vec<String> {
    let spec: UserspaceAttachmentSpec = serde_json::from_value(spec.clone()).unwrap();
    validate(&spec)
        .err()
        .map(|invalid| invalid.problems.into_iter().map(|problem| problem.field).collect())
        .unwrap_or_default()
}

#[test]
fn valid_attachments_are_accepted_by_both() {
    for changes in [
        json!({}),
        json!({"mac": "02:00:00:00:00:07", "ips": ["10.56.217.7/24", "fd00::7"]}),
        json!({"rateLimit": {"ingressKbps": 1000}, "interface": "data0.100"}),
        json!({"pod": "a.b"}),
    ] {
        let spec = spec(&changes);
        assert_eq!((by_cel(&spec, None), by_rust(&spec)), (Vec::new(), Vec::new()), "{changes}");
    }
}

#[test]
fn invalid_attachments_are_rejected_by_both_with_the_field() {
    for (changes, field) in [
        (json!({"pod": "Web"}), "spec.pod"),
        (json!({"network": "a.b"}), "spec.network"),
        (json!({"interface": "eth0"}), "spec.interface"),
        (json!({"interface": "lo"}), "spec.interface"),
        (json!({"interface": "a/b"}), "spec.interface"),
        (json!({"interface": ".."}), "spec.interface"),
        (json!({"interface": ""}), "spec.interface"),
        (json!({"interface": "sixteencharacter"}), "spec.interface"),
        (json!({"mac": "01:00:00:00:00:07"}), "spec.mac"),
        (json!({"ips": ["10.56.217.7", "10.56.217.256"]}), "spec.ips"),
        (json!({"rateLimit": {"egressKbps": -1}}), "spec.rateLimit.egressKbps"),
    ] {
        let spec = spec(&changes);
        let (cel, rust) = (by_cel(&spec, None), by_rust(&spec));
        assert!(cel.len() == 1 && cel[0].starts_with(field), "{changes}: {cel:?}");
        assert!(rust.len() == 1 && rust[0].starts_with(field), "{changes}: {rust:?}");
    }
}

#[test]
fn the_spec_cannot_be_changed() {
    let old = spec(&json!({}));
    assert_eq!(by_cel(&old, Some(&old)), Vec::<String>::new());
    for changes in [json!({"pod": "web-1"}), json!({"mac": "02:00:00:00:00:07"})] {
        assert_eq!(by_cel(&spec(&changes), Some(&old)), ["spec"], "{changes}");
    }
}
