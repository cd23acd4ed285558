//! The types of conditions with their doc comments: parsed from the source, so that no second list
//! can miss one.

use crate::EngineKind;
use crate::conditions::engine_connected;

const TYPES: &str = include_str!("../../conditions/types.rs");

/// A string constant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) value: String,
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
    fn all_types_of_conditions_are_found() {
        let types: Vec<String> = condition_types().map(|constant| constant.value).collect();
        assert!(["Ready", "DeletionBlocked", "VPPConnected"].iter().all(|known| types.iter().any(|it| it == known)));
    }
}
