//! What the log and the metrics need to know of a reconcile.

use crate::agent::isolation::Isolation;
use crate::agent::report::metrics::Metrics;
use std::time::Instant;
use usnet_dataplane::plan::PlanContext;

/// Beside the operations.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct LinkContext<'a> {
    pub(in super::super) metrics: &'a Metrics,
    pub(in super::super) isolation: &'a Isolation,
    pub(in super::super) plan: &'a PlanContext,
    /// When the event that triggered the reconcile was seen.
    pub(in super::super) since: Instant,
}
