//! What every program exports: which build it is, and what the process uses.

use prometheus::process_collector::ProcessCollector;
use prometheus::{IntGaugeVec, Opts, Registry};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of this build, which the build of a release sets; otherwise `unknown`.
pub const COMMIT: &str = match option_env!("USNET_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// Registers `usnet_build_info` and the `process_…` metrics of Prometheus' client libraries.
pub(super) fn register(registry: &Registry) -> Result<(), prometheus::Error> {
    let options = Opts::new("usnet_build_info", "1; the labels say which build this is.");
    let build = IntGaugeVec::new(options, &["version", "commit"])?;
    build.with_label_values(&[VERSION, COMMIT]).set(1);
    registry.register(Box::new(build))?;
    registry.register(Box::new(ProcessCollector::for_self()))
}
