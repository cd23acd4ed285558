//! The selectors of nodes and namespaces: their schema, and their rules in CEL and in Rust.

use crate::cel::rule;
use crate::problem::{Problem, Problems};
use crate::types::limits::SELECTOR_VALUES_MAX;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Rule, Selector};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Most requirements of one label selector: CEL rejects rules over unbounded lists.
const SELECTOR_LENGTH_MAX: u32 = 32;

/// A label selector with what the API server does not validate in custom resources by itself: the
/// operators, and bounds of the lists.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": SELECTOR_LENGTH_MAX},
            "matchExpressions": {
                "type": "array",
                "maxItems": SELECTOR_LENGTH_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string"},
                        "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {"type": "array", "items": {"type": "string"}, "maxItems": SELECTOR_VALUES_MAX},
                    },
                    "required": ["key", "operator"],
                },
            },
        },
        "x-kubernetes-map-type": "atomic",
    })
}

pub(super) fn values_fit_operator() -> Rule {
    rule(
        "!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",
        "matchExpressions: In and NotIn need values; Exists and DoesNotExist take none",
    )
}

pub(super) fn selector(problems: &mut Problems, field: &str, selector: &LabelSelector) -> Option<Selector> {
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
