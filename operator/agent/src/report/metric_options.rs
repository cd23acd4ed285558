//! The names of metrics of the agent.

use prometheus::Opts;

/// A metric of the agent.
pub(super) fn options(name: &str, help: &str) -> Opts {
    Opts::new(format!("usnet_agent_{name}"), help)
}
