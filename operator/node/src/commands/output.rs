//! The output formats of the commands.

use clap::ValueEnum;
use serde::Serialize;
use std::io;
use usnet_dataplane::atomic_file;

/// The output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Table,
    Json,
    Yaml,
}

/// Why a command has no output.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no agent has run on this node since it started: {} does not exist", .0.display())]
    NoState(std::path::PathBuf),
    #[error("cannot read the state of this node")]
    State(#[from] atomic_file::Error),
    #[error("cannot read the networks of this node")]
    Networks(#[from] usnet_dataplane::node_file::Error),
    #[error("cannot read the history of this node from {}", path.display())]
    History { path: std::path::PathBuf, source: io::Error },
    #[error("cannot read the attachments of this node from {}", path.display())]
    Attachments { path: std::path::PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Capture(#[from] Box<super::capture::Error>),
    #[error("cannot write the output as YAML")]
    Yaml(#[from] serde_yaml::Error),
    #[error("cannot print the output")]
    Print(#[source] io::Error),
}

/// A document as JSON or YAML text; none when a table was requested.
pub(super) fn document_text<T: Serialize>(document: &T, output: Output) -> Option<Result<String, Error>> {
    match output {
        Output::Table => None,
        Output::Json => {
            let text = serde_json::to_string_pretty(document).map_err(|error| Error::Print(error.into()));
            Some(text.map(|text| text + "\n"))
        }
        Output::Yaml => Some(serde_yaml::to_string(document).map_err(Error::Yaml)),
    }
}
