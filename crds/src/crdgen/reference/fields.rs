//! The fields of a schema, in the order of their names, each object before what is in it.

use serde_json::Value;

/// One row of the reference.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    /// The path, such as `spec.ipam.ranges[][].subnet`.
    pub(super) path: String,
    /// The JSON type, or the values that can be chosen from.
    pub(super) kind: String,
    /// The default as JSON.
    pub(super) default: String,
    pub(super) meaning: String,
    /// The messages of its validation rules.
    pub(super) rules: Vec<String>,
}

/// All fields of the schema of a CRD except `metadata`, which the reference omits: rules on the
/// whole object are about its name.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    let rules = messages(schema);
    if !rules.is_empty() {
        found.push(Field { path: "metadata.name".to_owned(), kind: "string".to_owned(), rules, ..Field::default() });
    }
    children(schema, "", &mut found);
    found
}

fn children(schema: &Value, path: &str, found: &mut Vec<Field>) {
    let required = schema.get("required").and_then(Value::as_array);
    for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_kubernetes_own = path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str());
        if !is_kubernetes_own {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let is_required = required.is_some_and(|required| required.iter().any(|it| it == name));
            add(child, path, is_required, found);
        }
    }
}

fn add(schema: &Value, mut path: String, is_required: bool, found: &mut Vec<Field>) {
    let mut rules: Vec<String> = is_required.then(|| "required".to_owned()).into_iter().collect();
    rules.extend(limits(schema).chain(messages(schema)));
    // A list and its items are one row.
    let mut inner = schema;
    while let Some(items) = inner.get("items") {
        path.push_str("[]");
        rules.extend(limits(items).chain(messages(items)));
        inner = items;
    }
    let text = |key: &str| inner.get(key).and_then(Value::as_str).unwrap_or_default();
    let description = schema.get("description").and_then(Value::as_str).unwrap_or(text("description"));
    // A condition is described once for all of Kubernetes.
    let is_condition = path == "status.conditions[]";
    let meaning = if is_condition { "see [conditions](#conditions)" } else { description };
    found.push(Field {
        kind: kind(inner),
        default: schema.get("default").map(Value::to_string).unwrap_or_default(),
        meaning: meaning.to_owned(),
        rules,
        path: path.clone(),
    });
    if !is_condition {
        children(inner, &path, found);
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

/// The limits in the schema.
fn limits(schema: &Value) -> impl Iterator<Item = String> {
    const WORDS: [(&str, &str, &str); 8] = [
        ("minimum", "at least ", ""),
        ("maximum", "at most ", ""),
        ("minLength", "at least ", " characters"),
        ("maxLength", "at most ", " characters"),
        ("minItems", "at least ", " items"),
        ("maxItems", "at most ", " items"),
        ("maxProperties", "at most ", " entries"),
        // As code: a pattern can look like a link.
        ("pattern", "matches `", "`"),
    ];
    WORDS.into_iter().filter_map(|(key, before, after)| Some(format!("{before}{}{after}", schema.get(key)?)))
}

/// The messages of CEL rules, prefixed with the nested field that they are about.
fn messages(schema: &Value) -> Vec<String> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    rules.into_iter().flatten().filter_map(message).collect()
}

fn message(rule: &Value) -> Option<String> {
    let message = rule.get("message")?.as_str()?;
    let inner = rule.get("fieldPath").and_then(Value::as_str).map(|path| path.trim_start_matches('.'));
    Some(inner.map_or_else(|| message.to_owned(), |inner| format!("`{inner}`: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_has_its_path_default_and_rules() {
        let schema = json!({"properties": {"metadata": {"type": "object"}, "spec": {
            "type": "object",
            "required": ["sizes"],
            "properties": {"sizes": {
                "type": "array", "maxItems": 2, "default": [1], "description": "Sizes.",
                "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "too small"}]},
            }},
        }}});
        let found = fields(&schema);
        assert_eq!(found.len(), 2, "{found:?}");
        let expected = Field {
            path: "spec.sizes[]".to_owned(),
            kind: "integer".to_owned(),
            default: "[1]".to_owned(),
            meaning: "Sizes.".to_owned(),
            rules: ["required", "at most 2 items", "too small"].map(ToOwned::to_owned).into(),
        };
        assert_eq!(found[1], expected);
    }
}
