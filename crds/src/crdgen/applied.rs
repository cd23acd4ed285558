//! Schemas of what users apply, so that objects hold what was applied and each tool may apply what
//! another one has applied. Server-side apply tracks the owner of each field, which makes two
//! things harmful in a schema:
//!
//! - A default belongs to the tool that created the object. Another owner that applies the same
//!   content then differs from what is stored, and tools that compare find a difference that never
//!   ends. So there are none: readers have them, and the description names them.
//! - An object whose fields all go, because `{}` is applied, becomes `null`, which is refused. So
//!   an object below the spec has one owner and is replaced as a whole, as selectors of Kubernetes
//!   are. Items of lists with keys stay apart from each other: a key is always there.

use serde_json::{Value, json};

pub(super) fn prepare(spec: &mut Value) {
    let Some(fields) = spec.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for field in fields.values_mut() {
        move_default(field);
        if field.get("x-kubernetes-list-type") == Some(&json!("map")) {
            field.get_mut("items").into_iter().for_each(prepare);
        } else {
            move_defaults(field);
            if field.get("type") == Some(&json!("object")) {
                field["x-kubernetes-map-type"] = json!("atomic");
            }
        }
    }
}

/// Moves all defaults of a schema into descriptions.
fn move_defaults(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                if key == "properties" {
                    member.as_object_mut().into_iter().flatten().for_each(|(_, field)| move_default(field));
                }
                move_defaults(member);
            }
        }
        Value::Array(members) => members.iter_mut().for_each(move_defaults),
        _ => {}
    }
}

/// Moves the default of a field into its description. The default of an object follows from its
/// fields.
fn move_default(field: &mut Value) {
    let default = match field.as_object_mut().and_then(|members| members.remove("default")) {
        Some(Value::String(text)) => text,
        Some(number @ (Value::Number(_) | Value::Bool(_))) => number.to_string(),
        _ => return,
    };
    if let Some(Value::String(text)) = field.get_mut("description")
        && !["Default ", "; default ", "(the default)"].iter().any(|said| text.contains(said))
    {
        text.push_str(&format!(" Default {default}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_one_owner_and_no_defaults_and_items_with_keys_have_their_own() {
        let number = || json!({"type": "integer", "description": "A number.", "default": 3});
        let object = || json!({"type": "object", "default": {"n": 3}, "properties": {"n": number(), "default": {}}});
        let items = json!({"type": "object", "properties": {"key": {"type": "string"}, "of": object()}});
        let mut spec = json!({"type": "object", "properties": {
            "n": number(),
            "object": object(),
            "list": {"type": "array", "items": object()},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "items": items},
        }});
        prepare(&mut spec);
        let number = json!({"type": "integer", "description": "A number. Default 3."});
        let fields = json!({"n": number, "default": {}});
        let object = json!({"type": "object", "properties": fields, "x-kubernetes-map-type": "atomic"});
        let fields = &spec["properties"];
        assert_eq!(fields["n"], number);
        assert_eq!(fields["object"], object);
        assert_eq!(fields["map"]["items"]["properties"]["of"], object);
        assert_eq!(fields["map"]["items"].get("x-kubernetes-map-type"), None);
        assert_eq!(fields["list"]["items"]["properties"]["n"], number);
    }
}
