//! A table of UserspaceEngines, validated by the CEL rules of the CRD and by `validate` in Rust.

use crate::support::rejected;
use serde::Deserialize;
use serde_json::{Value, json};
use usnet_crds::UserspaceEngine;
use usnet_crds::userspace_engine::validate::{ValidEngine, validate};

#[derive(Deserialize)]
struct Case {
    case: String,
    #[serde(default = "any_name")]
    name: String,
    old: Option<Value>,
    spec: Value,
    refused: Option<String>,
    by: Option<By>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum By {
    Rule,
    Schema,
    Limit,
    Controller,
}

fn any_name() -> String {
    "ovs".to_owned()
}

impl Case {
    fn object(&self, spec: &Value) -> Value {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceEngine", "metadata": {"name": self.name}, "spec": spec,
        })
    }

    fn read(&self) -> Result<UserspaceEngine, serde_json::Error> {
        serde_json::from_value(self.object(&self.spec))
    }

    fn rejected_by_cel(&self) -> Vec<String> {
        let old = self.old.as_ref().map(|old| self.object(old));
        rejected(&self.object(&self.spec), old.as_ref())
    }

    fn validated(&self) -> Result<ValidEngine, Vec<String>> {
        validate(&self.name, &self.read().unwrap().spec)
            .map_err(|invalid| invalid.problems.into_iter().map(|problem| problem.field).collect())
    }
}

fn cases(by: Option<&By>) -> Vec<Case> {
    let all: Vec<Case> = serde_yaml::from_str(include_str!("../../testdata/engines.yaml")).unwrap();
    let all: Vec<Case> = all.into_iter().filter(|case| case.by.as_ref() == by).collect();
    assert!(all.len() >= 6, "{} cases", all.len());
    assert!(all.iter().all(|case| case.refused.is_some() == by.is_some()), "refused and by belong together");
    all
}

#[test]
fn valid_engines_are_accepted_by_both() {
    for case in cases(None) {
        assert_eq!(case.rejected_by_cel(), Vec::<String>::new(), "{}", case.case);
        assert!(case.validated().is_ok(), "{}: {:?}", case.case, case.validated());
    }
}

#[test]
fn invalid_engines_are_rejected_by_both_with_the_field() {
    for case in cases(Some(&By::Rule)) {
        let field = case.refused.clone().unwrap();
        // A rule about metadata can only stand at the root of the object, and so has no path.
        let expected = if field == "metadata.name" { "" } else { &field };
        assert_eq!(case.rejected_by_cel(), [expected], "{}", case.case);
        if case.old.is_none() {
            let by_rust = case.validated().unwrap_err();
            assert!(by_rust.len() == 1 && by_rust[0].starts_with(&field), "{}: {by_rust:?}", case.case);
        }
    }
}

#[test]
fn what_cel_does_not_check_is_rejected_by_rust() {
    for case in [By::Limit, By::Controller].iter().flat_map(|by| cases(Some(by))) {
        assert_eq!(case.rejected_by_cel(), Vec::<String>::new(), "{}", case.case);
        assert_eq!(case.validated().unwrap_err(), [case.refused.clone().unwrap()], "{}", case.case);
    }
}

#[test]
fn engines_of_the_wrong_type_cannot_be_deserialized() {
    for case in cases(Some(&By::Schema)) {
        assert!(case.read().is_err(), "{}", case.case);
    }
}
