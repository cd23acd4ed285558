//! A table of networks, validated by the CEL rules of the CRD and by `validate` in Rust.

use crate::support::rejected;
use serde::Deserialize;
use serde_json::{Value, json};
use usnet_crds::UserspaceNetwork;
use usnet_crds::validate::validate;

#[derive(Deserialize)]
struct Case {
    case: String,
    #[serde(default = "any_name")]
    name: String,
    old: Option<Value>,
    #[serde(default)]
    pods: u32,
    spec: Value,
    refused: Option<String>,
    by: Option<By>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum By {
    Rule,
    Schema,
    List,
    Controller,
}

fn any_name() -> String {
    "blue".to_owned()
}

impl Case {
    fn object(&self, spec: &Value) -> Value {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": self.name}, "spec": spec,
        })
    }

    fn network(&self) -> Result<UserspaceNetwork, serde_json::Error> {
        serde_json::from_value(self.object(&self.spec))
    }

    fn rejected_by_cel(&self) -> Vec<String> {
        let used = |spec| {
            let mut object = self.object(spec);
            object["status"] = json!({"attachments": self.pods});
            object
        };
        let old = self.old.as_ref().map(used);
        rejected(&self.object(&self.spec), old.as_ref())
    }

    fn rejected_by_rust(&self) -> Vec<String> {
        match validate(&self.network().unwrap()) {
            Ok(_) => Vec::new(),
            Err(invalid) => invalid.problems.into_iter().map(|problem| problem.field).collect(),
        }
    }
}

fn cases(by: Option<&By>) -> Vec<Case> {
    let all: Vec<Case> = serde_yaml::from_str(include_str!("../../testdata/networks.yaml")).unwrap();
    all.into_iter().filter(|case| case.by.as_ref() == by).collect()
}

#[test]
fn the_table_has_many_bad_objects() {
    let bad = [By::Rule, By::Schema, By::List, By::Controller].iter().map(|by| cases(Some(by)).len()).sum::<usize>();
    assert!(bad >= 50, "{bad} bad objects");
}

#[test]
fn valid_networks_are_accepted_by_both() {
    for case in cases(None) {
        assert_eq!(case.rejected_by_cel(), Vec::<String>::new(), "{}", case.case);
        assert_eq!(case.rejected_by_rust(), Vec::<String>::new(), "{}", case.case);
    }
}

#[test]
fn invalid_networks_are_rejected_by_both_with_the_field() {
    for case in cases(Some(&By::Rule)) {
        let field = case.refused.clone().unwrap();
        let by_cel = case.rejected_by_cel();
        // A rule about metadata can only stand at the root of the object, and so has no path.
        let expected = if field == "metadata.name" { "" } else { &field };
        assert_eq!(by_cel, [expected], "{}", case.case);
        if case.old.is_none() {
            let by_rust = case.rejected_by_rust();
            assert!(by_rust.len() == 1 && by_rust[0].starts_with(&field), "{}: {by_rust:?}", case.case);
        }
    }
}

#[test]
fn what_cel_does_not_check_is_rejected_by_rust() {
    for case in [By::List, By::Controller].iter().flat_map(|by| cases(Some(by))) {
        assert_eq!(case.rejected_by_cel(), Vec::<String>::new(), "{}", case.case);
        assert_eq!(case.rejected_by_rust(), [case.refused.clone().unwrap()], "{}", case.case);
    }
}

#[test]
fn objects_of_the_wrong_type_cannot_be_deserialized() {
    for case in cases(Some(&By::Schema)) {
        assert!(case.network().is_err(), "{}", case.case);
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "b/r", "mtu": 1}});
    let network: UserspaceNetwork = serde_json::from_value(json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": "blue"}, "spec": spec,
    }))
    .unwrap();
    let text = validate(&network).unwrap_err().to_string();
    assert!(text.starts_with("spec.bridge.name: bridge name \"b/r\" cannot be used"), "{text}");
    assert!(text.ends_with("; spec.bridge.mtu: MTU 1 is out of range: use 576 to 9702"), "{text}");
}
