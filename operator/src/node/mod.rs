//! The commands for users on a node: `usnet node status` and `usnet node history`. Both read files
//! and need neither an API server nor a running agent.

mod history;
pub mod state_file;
mod status;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use usnet_crds::NetworkName;
use usnet_dataplane::atomic_file;
use usnet_dataplane::paths::NodePaths;

/// Options of `usnet node`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    #[command(subcommand)]
    query: Query,
}

#[derive(Debug, Clone, Subcommand)]
enum Query {
    /// What this node has, as its agent said last.
    Status {
        /// How to print it.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// The last changes that the agent made to Open vSwitch and VPP, the oldest first.
    History {
        /// How to print them.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
        /// Only those of this network.
        #[arg(long)]
        network: Option<NetworkName>,
    },
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
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
    #[error("no agent has run on this node since it started: there is no {}", .0.display())]
    NoState(std::path::PathBuf),
    /// The state file cannot be read.
    #[error("what the agent said of this node cannot be read")]
    State(#[from] atomic_file::Error),
    /// The history cannot be read.
    #[error("the history of this node cannot be read from {}", path.display())]
    History {
        /// Its file.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The output cannot be serialised.
    #[error("the answer cannot be written as YAML")]
    Yaml(#[from] serde_yaml::Error),
    /// The output cannot be written.
    #[error("the answer cannot be printed")]
    Print(#[source] io::Error),
}

/// Prints to standard output.
///
/// # Errors
/// When there is nothing to print.
pub fn run(options: Options) -> Result<(), Error> {
    let roots = NodePaths::from_environment();
    let text = match options.query {
        Query::Status { output } => status::answer(&roots, output)?,
        Query::History { output, network } => history::answer(&roots, output, network.as_ref())?,
    };
    match io::stdout().write_all(text.as_bytes()) {
        // As with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::Print),
    }
}

/// A document as JSON or YAML text; none when a table was requested.
fn document_text<T: Serialize>(document: &T, output: Output) -> Option<Result<String, Error>> {
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
fn table<const COLUMNS: usize>(heads: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
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
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
