use super::{Condition, Mutation, Operation, Until};
use crate::value::{NamedUuid, Row, Value};
use serde_json::json;
use std::time::Duration;

#[test]
fn insert_names_its_row() {
    let operation = Operation::Insert { table: "Port", row: Row::new().with("name", "p"), name: NamedUuid(3) };
    let expected = json!({"op": "insert", "table": "Port", "row": {"name": "p"}, "uuid-name": "row3"});
    assert_eq!(serde_json::to_value(&operation).expect("JSON"), expected);
}

#[test]
fn mutate_refers_to_the_named_row() {
    let operation = Operation::Mutate {
        table: "Bridge",
        conditions: vec![
            Condition::equal("name", "br0"),
            Condition::includes("external_ids", Value::map([("a", "b")])),
        ],
        mutations: vec![Mutation::insert("ports", NamedUuid(0)), Mutation::add("next_cfg", 1)],
    };
    let expected = json!({
        "op": "mutate",
        "table": "Bridge",
        "where": [["name", "==", "br0"], ["external_ids", "includes", ["map", [["a", "b"]]]]],
        "mutations": [["ports", "insert", ["named-uuid", "row0"]], ["next_cfg", "+=", 1]],
    });
    assert_eq!(serde_json::to_value(&operation).expect("JSON"), expected);
    let observed = operation.to_string();
    assert_eq!(observed, r#"mutate Bridge where name == "br0" and external_ids includes ["map",[["a","b"]]]"#);
}

#[test]
fn wait_always_has_a_timeout() {
    let operation = Operation::Wait {
        table: "Bridge",
        conditions: vec![],
        columns: vec!["name"],
        until: Until::NotEqual,
        rows: vec![Row::new().with("name", "br0")],
        timeout: Duration::from_millis(1500),
    };
    let expected = json!({
        "op": "wait", "table": "Bridge", "where": [], "columns": ["name"], "until": "!=",
        "rows": [{"name": "br0"}], "timeout": 1500,
    });
    assert_eq!(serde_json::to_value(&operation).expect("JSON"), expected);
}
