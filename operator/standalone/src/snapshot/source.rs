//! The sources of objects in a folder.

use usnet_node::problem::Problem;

/// The document of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub file: String,
    pub document: usize,
    pub line: Option<usize>,
}

impl Source {
    /// A problem of the object that was found here. `network` is the name of its network, if it has
    /// one.
    pub(crate) fn problem(&self, field: &str, network: Option<&str>, message: String) -> Problem {
        Problem {
            file: self.file.clone(),
            document: Some(self.document),
            line: self.line,
            field: field.to_owned(),
            network: network.map(str::to_owned),
            message,
        }
    }

    pub(super) fn duplicate_of(&self, first: &Self, what: &str, network: Option<&str>) -> Problem {
        let message = format!(
            "{what} is already defined in {} document {}, which takes precedence: remove one of the two",
            first.file, first.document
        );
        self.problem("metadata.name", network, message)
    }
}
