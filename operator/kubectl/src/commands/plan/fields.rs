//! The fields of two specs that differ. Pure.

use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FieldChange {
    /// The path of the field, such as `spec.bridge.mtu`.
    pub field: String,
    /// `None` if the field is not set.
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Returns the fields that differ, sorted by name. Lists are compared as a whole.
pub(super) fn changes(field: &str, from: &Value, to: &Value) -> Vec<FieldChange> {
    match (from, to) {
        _ if from == to => Vec::new(),
        (Value::Object(old), Value::Object(new)) => {
            let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
            names.sort();
            names.dedup();
            let inner = |name: &String| {
                let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                changes(&format!("{field}.{name}"), &of(old), &of(new))
            };
            names.into_iter().flat_map(inner).collect()
        }
        _ => vec![FieldChange { field: field.to_owned(), from: text(from), to: text(to) }],
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_fields_are_named_by_their_path() {
        let old = json!({"bridge": {"mtu": 1500, "name": "br"}, "ipam": {"type": "x"}, "list": [1]});
        let new = json!({"bridge": {"mtu": 9000, "name": "br"}, "port": {"type": "Veth"}, "list": [1, 2]});
        let found: Vec<_> = changes("spec", &old, &new)
            .into_iter()
            .map(|change| (change.field, change.from.unwrap_or_default(), change.to.unwrap_or_default()))
            .collect();
        let expected = [
            ("spec.bridge.mtu", "1500", "9000"),
            ("spec.ipam", r#"{"type":"x"}"#, ""),
            ("spec.list", "[1]", "[1,2]"),
            ("spec.port", "", r#"{"type":"Veth"}"#),
        ];
        assert_eq!(found, expected.map(|(field, from, to)| (field.to_owned(), from.to_owned(), to.to_owned())));
    }
}
