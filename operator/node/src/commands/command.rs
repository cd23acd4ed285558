//! The command line of `usnet node`.

use super::output::{Error, Output};
use super::{attachments, bridge, bundle, capture, history, ports, status};
use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
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
    /// The state of this node, as last reported by its agent. The exit status is 0 if the node is
    /// Ready, 3 if it is not, 4 if no agent runs, and 1 if there is no report.
    Status {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// The last changes of Open vSwitch and VPP by the agent, calls of the CNI plugin with their
    /// results, and collected garbage, oldest first.
    History {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
        /// Only the changes of this network.
        #[arg(long)]
        network: Option<NetworkName>,
    },
    /// The attached interfaces of pods, as the CNI plugin recorded them, without secrets.
    Attachments {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
        /// Only the interfaces of this network.
        #[arg(long)]
        network: Option<NetworkName>,
    },
    /// The traffic of the attached interfaces of this node, as Open vSwitch and VPP count it.
    /// Received is what the pod received. The exit status is 0, or 1 if an engine does not answer.
    Ports {
        /// The output format.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
        /// Only the interfaces of this network.
        #[arg(long)]
        network: Option<NetworkName>,
        /// Show rates over this many seconds instead of totals. Open vSwitch counts every 5
        /// seconds.
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval: Option<u64>,
    },
    /// The current bridge of a network in the engine, with the ports of pods, their counters and
    /// learned addresses, as one JSON document. This is this node's part of `kubectl usnet trace`.
    Bridge {
        /// The network.
        network: NetworkName,
        /// Read counters twice, this many seconds apart.
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3600))]
        interval: Option<u64>,
    },
    /// The files of this node and outputs of the engines, without secrets, as one JSON document.
    /// This is this node's part of `kubectl usnet support-bundle`.
    Bundle,
    /// Copy the frames of a pod's interface on this node, as pcapng. At most one capture of an
    /// interface and four of a node run at a time.
    Capture(capture::Options),
}

/// Runs a command and prints its result to standard output. Returns the exit status.
pub fn run(options: Options) -> Result<ExitCode, Error> {
    let paths = NodePaths::from_environment();
    let (text, exit_code) = match options.query {
        Query::Status { output } => {
            let (text, health) = status::render(&paths, output)?;
            (text, ExitCode::from(health.exit_status()))
        }
        Query::Ports { output, network, interval } => {
            let interval = interval.map(Duration::from_secs);
            let (text, is_complete) = ports::render(&paths, output, network.as_ref(), interval)?;
            (text, if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Query::Capture(options) => {
            capture::run(&paths, &options).map_err(Box::new)?;
            return Ok(ExitCode::SUCCESS);
        }
        Query::History { output, network } => (history::render(&paths, output, network.as_ref())?, ExitCode::SUCCESS),
        Query::Bridge { network, interval } => {
            let interval = interval.map(Duration::from_secs);
            (bridge::render(&paths, &network, interval)?, ExitCode::SUCCESS)
        }
        Query::Bundle => (bundle::render(&paths)?, ExitCode::SUCCESS),
        Query::Attachments { output, network } => {
            (attachments::render(&paths, output, network.as_ref())?, ExitCode::SUCCESS)
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit_code),
        other => other.map(|()| exit_code).map_err(Error::Print),
    }
}
