//! The fields of a schema, in the order of their names, each object before what is in it.

use serde_json::Value;
use std::fmt::Write;

/// One row of the reference.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    /// The path, such as `spec.ipam.ranges[][].subnet`.
    pub(super) path: String,
    /// The JSON type, or the values that can be chosen from.
    pub(super) kind: String,
    pub(super) is_required: bool,
    /// The default as JSON.
    pub(super) default: String,
    pub(super) meaning: String,
}

/// All fields of the schema of a CRD except `metadata`. An object with the same fields as one
/// before it refers to that one. Rules are left out: the API server names the one that an object
/// breaks.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let mut found = Found::default();
    found.children(schema, "");
    found.fields
}

#[derive(Default)]
struct Found {
    fields: Vec<Field>,
    /// The properties of the objects that are described, with their paths.
    objects: Vec<(Value, String)>,
}

impl Found {
    fn children(&mut self, schema: &Value, path: &str) {
        let required = schema.get("required").and_then(Value::as_array);
        for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_kubernetes_own = path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str());
            if !is_kubernetes_own {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let is_required = required.is_some_and(|required| required.iter().any(|it| it == name));
                self.add(child, path, is_required);
            }
        }
    }

    fn add(&mut self, schema: &Value, mut path: String, is_required: bool) {
        // A list and its items are one row.
        let mut inner = schema;
        while let Some(items) = inner.get("items") {
            path.push_str("[]");
            inner = items;
        }
        let of_whole = ["spec", "status"].contains(&path.as_str());
        let text = |key: &str| inner.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut meaning = schema.get("description").and_then(Value::as_str).unwrap_or(text("description")).to_owned();
        let is_elsewhere = self.is_described_elsewhere(inner, &path, &mut meaning);
        if !of_whole {
            let default = schema.get("default").filter(|default| !default.is_object() && !path.starts_with("status."));
            let default = default.map(Value::to_string).unwrap_or_default();
            let is_required = is_required && !path.starts_with("status.");
            let field = Field { path: path.clone(), kind: kind(inner), is_required, default, meaning };
            self.fields.push(field);
        }
        if !is_elsewhere {
            self.children(inner, &path);
        }
    }

    /// Whether an object is described elsewhere, where the meaning then refers to.
    fn is_described_elsewhere(&mut self, schema: &Value, path: &str, meaning: &mut String) -> bool {
        let Some(properties) = schema.get("properties") else { return false };
        // A condition is described once for all of Kubernetes.
        let elsewhere = if path == "status.conditions[]" {
            "see [conditions](#conditions)".to_owned()
        } else if properties.get("matchLabels").is_some() {
            "`matchLabels` and `matchExpressions` as in Kubernetes".to_owned()
        } else if let Some((_, before)) = self.objects.iter().find(|(object, _)| object == properties) {
            format!("Fields as in `{before}`")
        } else {
            self.objects.push((properties.clone(), path.to_owned()));
            return false;
        };
        let gap = if meaning.is_empty() { "" } else { " " };
        let _infallible = write!(meaning, "{gap}{elsewhere}.");
        true
    }
}

fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    match schema.get("additionalProperties").and_then(|it| it.get("type")).and_then(Value::as_str) {
        Some(values) => format!("{kind} of {values}"),
        None => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_has_its_path_type_and_default() {
        let schema = json!({"properties": {"metadata": {"type": "object"}, "spec": {
            "type": "object",
            "required": ["sizes"],
            "properties": {"sizes": {
                "type": "array", "default": [1], "description": "Sizes.", "items": {"type": "integer"},
            }},
        }}});
        let expected = Field {
            path: "spec.sizes[]".to_owned(),
            kind: "integer".to_owned(),
            is_required: true,
            default: "[1]".to_owned(),
            meaning: "Sizes.".to_owned(),
        };
        assert_eq!(fields(&schema), [expected]);
    }

    #[test]
    fn an_object_is_described_once() {
        let rate = json!({"type": "object", "properties": {"kbps": {"type": "integer"}}});
        let selector = json!({"type": "object", "properties": {"matchLabels": {"type": "object"}}});
        let spec = json!({"type": "object", "properties": {"first": rate, "nodes": selector, "second": rate}});
        let found = fields(&json!({"properties": {"spec": spec}}));
        let paths: Vec<&str> = found.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["spec.first", "spec.first.kbps", "spec.nodes", "spec.second"]);
        assert_eq!(found[3].meaning, "Fields as in `spec.first`.");
        assert!(found[2].meaning.contains("as in Kubernetes"));
    }
}
