//! The command line of `usnet node`.

use super::output::{Error, Output};
use super::{history, status};
use clap::{Args, Subcommand};
use std::io::{self, Write};
use usnet_crds::NetworkName;
use usnet_dataplane::paths::NodePaths;

/// Options of `usnet node`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    #[command(subcommand)]
    query: Query,
}

#[derive(Debug, Clone, Subcommand)]
enum Query {
    /// The state of this node, as last reported by its agent.
    Status {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// The last changes that the agent made to Open vSwitch and VPP, oldest first.
    History {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
        /// Only the changes of this network.
        #[arg(long)]
        network: Option<NetworkName>,
    },
}

/// Prints to standard output.
///
/// # Errors
/// When there is nothing to print.
pub fn run(options: Options) -> Result<(), Error> {
    let paths = NodePaths::from_environment();
    let text = match options.query {
        Query::Status { output } => status::render(&paths, output)?,
        Query::History { output, network } => history::render(&paths, output, network.as_ref())?,
    };
    match io::stdout().write_all(text.as_bytes()) {
        // As with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::Print),
    }
}
