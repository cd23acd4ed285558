//! The selectors of nodes and namespaces: their schema, and their rules in CEL and in Rust.

use crate::cel::rule;
use crate::problem::{LABEL_ADVICE, Problem, Problems};
use crate::types::limits::SELECTOR_VALUES_MAX;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Rule, Selector};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Most requirements of one label selector: CEL rejects rules over unbounded lists.
const SELECTOR_LENGTH_MAX: u32 = 32;

/// Longest key of a label: a DNS subdomain, "/" and a name.
const KEY_LENGTH_MAX: usize = PREFIX_LENGTH_MAX + 1 + NAME_LENGTH_MAX;
const PREFIX_LENGTH_MAX: usize = 253;
/// Longest name in a key, and longest value.
const NAME_LENGTH_MAX: usize = 63;
const KEY_PATTERN: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const VALUE_PATTERN: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

/// A label selector with what the API server does not validate in custom resources by itself: the
/// operators, and bounds of the lists.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    bounded(SELECTOR_LENGTH_MAX, SELECTOR_VALUES_MAX)
}

/// A shorter one for lists of selectors, whose rules would otherwise cost the API server too much.
pub(crate) fn short_label_selector(_: &mut SchemaGenerator) -> Schema {
    bounded(8, 32)
}

fn bounded(requirements: u32, values: usize) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": NAME_LENGTH_MAX}, "maxProperties": requirements},
            "matchExpressions": {
                "type": "array",
                "maxItems": requirements,
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string", "maxLength": KEY_LENGTH_MAX},
                        "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {"type": "array", "items": {"type": "string", "maxLength": NAME_LENGTH_MAX}, "maxItems": values},
                    },
                    "required": ["key", "operator"],
                },
            },
        },
        "x-kubernetes-map-type": "atomic",
    })
}

pub(crate) fn values_fit_operator() -> Rule {
    rule(
        "!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",
        "matchExpressions: In and NotIn need values; Exists and DoesNotExist take none",
    )
}

/// The API server takes a key or value that no label can have: the selector would silently match
/// nothing.
pub(crate) fn match_labels_are_labels() -> Rule {
    rule(
        format!(
            "!has(self.matchLabels) || self.matchLabels.all(k, size(k) <= {KEY_LENGTH_MAX} && k.matches('{KEY_PATTERN}') && self.matchLabels[k].matches('{VALUE_PATTERN}'))"
        ),
        format!("not a label: {LABEL_ADVICE}"),
    )
    .field_path(".matchLabels")
}

pub(crate) fn match_expressions_are_labels() -> Rule {
    rule(
        format!(
            "!has(self.matchExpressions) || self.matchExpressions.all(e, e.key.matches('{KEY_PATTERN}') && (!has(e.values) || e.values.all(v, v.matches('{VALUE_PATTERN}'))))"
        ),
        format!("not a label: {LABEL_ADVICE}"),
    )
    .field_path(".matchExpressions")
}

pub(crate) fn selector(problems: &mut Problems, field: &str, selector: &LabelSelector) -> Option<Selector> {
    let before = problems.count();
    for (key, value) in selector.match_labels.iter().flatten() {
        check_label(problems, &format!("{field}.matchLabels"), key, std::slice::from_ref(value));
    }
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let values = requirement.values.as_deref().unwrap_or_default();
        check_label(problems, &format!("{field}.matchExpressions[{index}]"), &requirement.key, values);
    }
    if problems.count() > before {
        return None;
    }
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let has_values = requirement.values.as_ref().is_some_and(|values| !values.is_empty());
        let problem = match requirement.operator.as_str() {
            "In" | "NotIn" if has_values => continue,
            "Exists" | "DoesNotExist" if !has_values => continue,
            "In" | "NotIn" | "Exists" | "DoesNotExist" => Problem::SelectorValues,
            other => Problem::SelectorOperator(other.to_owned()),
        };
        problems.add(format!("{field}.matchExpressions[{index}]"), problem);
        return None;
    }
    let unknown = |_| Problem::SelectorValues;
    problems.check(field, Selector::try_from(selector.clone()).map_err(unknown))
}

fn check_label(problems: &mut Problems, field: &str, key: &str, values: &[String]) {
    problems.add_if(!is_label_key(key), field, Problem::LabelKey(key.to_owned()));
    for value in values.iter().filter(|value| !value.is_empty() && !is_label_name(value)) {
        problems.add(field, Problem::LabelValue(value.clone()));
    }
}

fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= PREFIX_LENGTH_MAX && prefix.split('.').all(is_prefix_part) && is_label_name(name)
        }
        None => is_label_name(key),
    }
}

fn is_prefix_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_ends(part, is_allowed) && part.bytes().all(|byte| is_allowed(byte) || byte == b'-')
}

fn is_label_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric();
    name.len() <= NAME_LENGTH_MAX
        && has_ends(name, is_allowed)
        && name.bytes().all(|byte| is_allowed(byte) || b"-_.".contains(&byte))
}

fn has_ends(text: &str, is_allowed: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    ends.into_iter().all(|end| end.is_some_and(&is_allowed))
}
