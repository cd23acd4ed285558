//! What the commands print: tables, JSON or YAML.

use clap::ValueEnum;
use serde::Serialize;
use std::io;
use usnet_dataplane::atomic_file;

/// The output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table.
    #[default]
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Why a command has no output.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No agent has written the state since the node started.
    #[error("no agent has run on this node since it started: {} does not exist", .0.display())]
    NoState(std::path::PathBuf),
    /// The state file cannot be read.
    #[error("cannot read the state of this node")]
    State(#[from] atomic_file::Error),
    /// What the node selected cannot be read.
    #[error("cannot read the networks of this node")]
    Networks(#[from] usnet_dataplane::node_file::Error),
    /// The history cannot be read.
    #[error("cannot read the history of this node from {}", path.display())]
    History {
        /// The history file.
        path: std::path::PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The records cannot be read.
    #[error("cannot read the attachments of this node from {}", path.display())]
    Attachments {
        /// The folder of records.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The frames of an interface cannot be captured.
    #[error(transparent)]
    Capture(#[from] Box<super::capture::Error>),
    /// The output cannot be serialised.
    #[error("cannot write the output as YAML")]
    Yaml(#[from] serde_yaml::Error),
    /// The output cannot be written.
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

/// Lines with columns of equal width, two spaces apart.
pub fn table<const COLUMNS: usize>(heads: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let mut widths = heads.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; COLUMNS]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned() + "\n"
    };
    std::iter::once(&heads.map(str::to_owned)).chain(rows).map(line).collect()
}

/// A duration as `kubectl` prints ages: its largest unit.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
