//! Each alert of `config/components/prometheus` is silent first and fires later, by Prometheus' own
//! test program.
#![expect(clippy::unwrap_used, reason = "all of this program is test code")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use usnet_release::commands::{self, program};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/components/prometheus")
}

fn read(name: &str) -> Value {
    serde_yaml::from_str(&fs::read_to_string(folder().join(name)).unwrap()).unwrap()
}

/// The texts of a field, wherever it is.
fn texts(value: &Value, field: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> =
        value.get(field).and_then(Value::as_str).map(ToOwned::to_owned).into_iter().collect();
    let parts: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    found.extend(parts.into_iter().flat_map(|part| texts(part, field)));
    found
}

#[test]
fn each_alert_fires_and_is_silent_before() {
    let tests = fs::read_to_string(folder().join("alerts.test.yaml")).unwrap();
    assert_eq!(
        texts(&read("alerts.test.yaml"), "alertname"),
        texts(&read("alerts.yaml"), "alert"),
        "alerts with tests"
    );
    if commands::run(program("promtool").arg("--version"), b"").is_err() {
        println!("SKIPPED: no promtool here; e2e/scripts/setup gets it");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    fs::write(path("rules.yaml"), read("alerts.yaml")["spec"].to_string()).unwrap();
    fs::write(path("tests.yaml"), tests).unwrap();
    for (command, file) in [("check", "rules.yaml"), ("test", "tests.yaml")] {
        commands::run(program("promtool").args([command, "rules"]).arg(path(file)), b"").unwrap();
    }
}

#[test]
fn alerts_say_what_to_do_and_name_nodes_and_not_addresses() {
    let rules = read("alerts.yaml");
    let rules = rules["spec"]["groups"].as_array().unwrap().iter().flat_map(|it| it["rules"].as_array().unwrap());
    for rule in rules {
        for annotation in ["summary", "description"] {
            assert!(rule["annotations"][annotation].as_str().is_some_and(|text| text.ends_with(['.', '?'])), "{rule}");
        }
        assert!(!rule.to_string().contains("instance"), "{rule}");
    }
}

#[test]
fn the_dashboard_is_json_with_queries() {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(folder().join("dashboard.json")).unwrap()).unwrap();
    assert!(texts(&dashboard, "expr").len() > 10, "{dashboard}");
}
