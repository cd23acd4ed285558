//! What every program exports: which build it is, and what the process uses.

use crate::release::{COMMIT, VERSION};
use prometheus::process_collector::ProcessCollector;
use prometheus::{IntGaugeVec, Opts, Registry};

/// Registers `usnet_build_info` and the `process_…` metrics of Prometheus' client libraries.
pub(super) fn register(registry: &Registry) -> Result<(), prometheus::Error> {
    let options = Opts::new("usnet_build_info", "1; the labels say which build this is.");
    let build = IntGaugeVec::new(options, &["version", "commit"])?;
    build.with_label_values(&[VERSION, COMMIT.unwrap_or("unknown")]).set(1);
    registry.register(Box::new(build))?;
    registry.register(Box::new(ProcessCollector::for_self()))
}
