//! The constants of [`crate::conditions`] with their doc comments: parsed from the source, so that
//! no second list can miss one.

use crate::EngineKind;
use crate::conditions::engine_connected;

/// The source of the condition types.
const TYPES: &str = include_str!("../../conditions/types.rs");
/// The source of the reasons.
const REASONS: &str = include_str!("../../conditions/reason.rs");

/// A string constant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    /// Its value.
    pub(super) value: String,
    /// Its doc comment.
    pub(super) meaning: String,
}

/// The types of conditions; those of engines are in the table of engines.
pub(super) fn condition_types() -> impl Iterator<Item = Constant> {
    let engine = |engine: EngineKind| Constant {
        value: engine_connected(engine).to_owned(),
        meaning: format!("Node: the agent is connected to {engine}."),
    };
    constants(TYPES).into_iter().chain(EngineKind::ALL.map(engine))
}

/// The reasons of conditions and of networks on a node, by name.
pub(super) fn reasons() -> impl Iterator<Item = Constant> {
    let mut found = constants(REASONS);
    found.sort_by(|left, right| left.value.cmp(&right.value));
    found.into_iter()
}

/// Public string constants with their doc comments.
fn constants(source: &str) -> Vec<Constant> {
    let mut meaning: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("/// ") {
            meaning.push(comment);
            continue;
        }
        let value = line.strip_prefix("pub const ").and_then(|constant| constant.split_once(": &str = \""));
        if let Some((value, _)) = value.and_then(|(_, value)| value.split_once('"')) {
            found.push(Constant { value: value.to_owned(), meaning: meaning.join(" ") });
        }
        meaning.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_found_with_all_lines_of_its_comment() {
        let source = "/// About a function.\nfn other() {}\n    /// Why,\n    /// and what.\n    pub const WORD: &str = \"Word\";\n";
        let expected = Constant { value: "Word".to_owned(), meaning: "Why, and what.".to_owned() };
        assert_eq!(constants(source), [expected]);
    }

    #[test]
    fn types_and_reasons_are_distinguished() {
        let has = |mut constants: Box<dyn Iterator<Item = Constant>>, value: &str| {
            constants.any(|constant| constant.value == value)
        };
        assert!(has(Box::new(condition_types()), "DeletionBlocked") && !has(Box::new(condition_types()), "InUse"));
        assert!(has(Box::new(reasons()), "InUse") && !has(Box::new(reasons()), "DeletionBlocked"));
    }
}
