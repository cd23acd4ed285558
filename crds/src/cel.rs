//! Parts of the validation rules in CEL, which the API server evaluates. The rules themselves are
//! in [`crate::network`], each beside the check in Rust that does the same.

use crate::EngineKind;
use crate::problem::Problem;
use crate::types::number::EngineRange;
use kube::core::{Message, Rule};
use std::fmt::Display;

pub(crate) fn rule(expression: impl Into<String>, message: impl Into<String>) -> Rule {
    Rule::new(expression).message(Message::Message(message.into()))
}

/// A rule with the message of a problem, about a field below the object that has the rule.
pub(crate) fn at(field: &str, expression: impl Into<String>, problem: &Problem) -> Rule {
    rule(expression, problem.to_string()).field_path(field)
}

/// A rule that a number is in a range.
pub(crate) fn range(what: &str, minimum: impl Display, maximum: impl Display) -> Rule {
    rule(
        format!("self >= {minimum} && self <= {maximum}"),
        format!("{what} is out of range: use {minimum} to {maximum}"),
    )
}

/// Whether a field is set. Each part of its path after `self` may be absent: the schema has no
/// defaults (`crdgen/applied.rs`).
pub(crate) fn is_set(path: &str) -> String {
    let ends = path.match_indices('.').map(|(at, _)| at).skip(1).chain([path.len()]);
    let parts: Vec<String> = ends.map(|end| format!("has(self{})", path.get(..end).unwrap_or(path))).collect();
    format!("({})", parts.join(" && "))
}

/// The value of a field, or this expression if it is absent.
pub(crate) fn or_default(path: &str, default: &str) -> String {
    format!("({} ? self{path} : {default})", is_set(path))
}

/// Whether a field has a value that is not its default.
pub(crate) fn is(path: &str, value: &str) -> String {
    format!("({} && self{path} == '{value}')", is_set(path))
}

/// A rule that a number of the spec is one that the engine accepts.
pub(crate) fn in_range(field: &str, engine: EngineKind, range: EngineRange) -> Rule {
    let EngineRange { minimum, maximum, step, .. } = range;
    let number = format!("self{field}");
    let multiple = if step > 1 { format!(" && {number} % {step} == 0") } else { String::new() };
    let fits = format!("(!{} || {number} >= {minimum} && {number} <= {maximum}{multiple})", is_set(field));
    at(field, with_engine(engine, &fits), &Problem::EngineRange { engine, range })
}

/// A rule of the whole object: a field of the spec is immutable while pods are attached, as far as
/// the status says, also if it is unset.
pub(crate) fn immutable_in_use(field: &str) -> Rule {
    let path = format!(".spec.{field}");
    let (new, used) = (is_set(&path), "oldSelf.status");
    let old = new.replace("self", "oldSelf");
    let is_unused = format!("!has({used}) || !has({used}.attachments) || {used}.attachments == 0");
    rule(
        format!("{is_unused} || ({new} == {old} && (!{new} || self{path} == oldSelf{path}))"),
        format!(
            "{field} cannot be changed, added or removed while pods use the network: delete them first (in a repository in an earlier commit), or create a new network and move them to it"
        ),
    )
    .field_path(path)
}

/// An expression that must hold with this engine.
pub(crate) fn with_engine(engine: EngineKind, expression: &str) -> String {
    format!("self.engine != '{}' || {expression}", engine.traits().api_name)
}

/// Whether a field has one of these values.
pub(crate) fn one_of<'a>(field: &str, values: impl Iterator<Item = &'a str>) -> String {
    let values: Vec<String> = values.map(|value| format!("'{value}'")).collect();
    match values.as_slice() {
        [only] => format!("{field} == {only}"),
        several => format!("{field} in [{}]", several.join(", ")),
    }
}
