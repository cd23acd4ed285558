//! Logs on standard error, as text for people or as JSON for collectors.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// What is logged when `RUST_LOG` says nothing. Libraries speak up only when something is wrong; `kube_client` gives us all errors to log, and logs
/// them itself once more for each try.
const STANDARD_FILTER: &str = "warn,kube_client=off,usnet_operator=info,usnet_dataplane=info,usnet_ovsdb=info";

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object for each line.
    Json,
}

/// Starts logging for the whole process. `RUST_LOG` chooses what is logged, in the syntax of `tracing_subscriber::EnvFilter`.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(STANDARD_FILTER));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_span_list(false).init(),
    }
}
