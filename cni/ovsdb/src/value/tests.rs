use super::{Atom, FromValue, Real, Uuid, Value, from_json};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const UUID: &str = "0123abcd-0000-4000-8000-00000000000f";

fn round_trip(json: &Json) -> Value {
    let value = from_json(json).expect("a value");
    assert_eq!(&serde_json::to_value(&value).expect("JSON"), json);
    value
}

#[test]
fn values_keep_their_json_form() {
    assert_eq!(round_trip(&json!("text")), Value::from("text"));
    assert_eq!(round_trip(&json!(-7)), Value::from(-7_i64));
    assert_eq!(round_trip(&json!(1.5)), Value::from(Atom::Real(Real(1.5))));
    assert_eq!(round_trip(&json!(["set", []])), Value::empty());
    assert_eq!(round_trip(&json!(["set", [1, 2]])), Value::set([1, 2]));
    assert_eq!(round_trip(&json!(["map", [["a", "b"], ["c", ""]]])), Value::map([("a", "b"), ("c", "")]));
    assert_eq!(round_trip(&json!(["uuid", UUID])), Value::from(UUID.parse::<Uuid>().expect("a UUID")));
}

#[test]
fn set_with_one_element_equals_the_atom() {
    assert_eq!(from_json(&json!(["set", [7]])), from_json(&json!(7)));
}

#[test]
fn other_json_is_refused_with_what_was_sent() {
    for json in [json!(null), json!({}), json!(["set"]), json!(["map", [["a"]]]), json!(["set", [["set", []]]])] {
        let error = from_json(&json).expect_err("not a value");
        assert!(error.to_string().starts_with("expected a"), "{error}");
    }
    let error = from_json(&json!(["uuid", "7"])).expect_err("not a UUID");
    assert!(error.to_string().contains("\"7\" is not a UUID"), "{error}");
}

#[test]
fn uuid_text_is_strict() {
    assert_eq!(UUID.parse::<Uuid>().expect("a UUID").to_string(), UUID);
    for text in ["", "0123abcd", &UUID.replace('-', "0"), &format!("{UUID}0"), &UUID.replace('f', "g")] {
        assert!(text.parse::<Uuid>().is_err(), "{text}");
    }
}

#[test]
fn columns_have_types() {
    assert_eq!(i64::from_value(&Value::from(3)), Some(3));
    assert_eq!(i64::from_value(&Value::empty()), None, "a scalar column is never empty");
    assert_eq!(Option::<i64>::from_value(&Value::empty()), Some(None));
    assert_eq!(Option::<i64>::from_value(&Value::set([1, 2])), None);
    assert_eq!(u16::from_value(&Value::from(70_000)), None);
    assert_eq!(BTreeSet::<u16>::from_value(&Value::from(5)), Some(BTreeSet::from([5])));
    assert_eq!(BTreeMap::from_value(&Value::map([("k", "v")])), Some(BTreeMap::from([("k".into(), "v".into())])));
    assert_eq!(BTreeMap::<String, String>::from_value(&Value::from("k")), None);
}
