//! The input that all steps for links share.

use crate::isolation::Isolation;
use crate::report::metrics::Metrics;
use std::time::Instant;
use usnet_dataplane::plan::PlanContext;

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct LinkContext<'a> {
    pub(in super::super) metrics: &'a Metrics,
    pub(in super::super) isolation: &'a Isolation,
    pub(in super::super) plan: &'a PlanContext,
    /// When the event that triggered the reconcile was seen.
    pub(in super::super) since: Instant,
}
