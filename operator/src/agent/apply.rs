//! Step three of a pass: the operations are carried out, and each is logged once.

use super::guard::attachment_of;
use super::metrics::Metrics;
use super::verify::network_of;
use std::collections::BTreeSet;
use std::time::Instant;
use usnet_crds::NetworkName;
use usnet_dataplane::engine::{Engine, EngineError, OpError};
use usnet_dataplane::plan::Op;

/// What the log and the metrics say of operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasion<'a> {
    /// The engine that is changed.
    pub engine: usnet_crds::Engine,
    /// Where all of it is counted.
    pub metrics: &'a Metrics,
    /// When the event that started this pass was seen.
    pub since: Instant,
    /// Networks that were programmed before and that nobody has changed: what is done to them is a repair.
    pub intact: &'a BTreeSet<NetworkName>,
    /// Whether the engine was just connected to: then its lost ports are told of together.
    pub is_replay: bool,
}

/// Carries out operations, with an answer for each.
///
/// # Errors
/// When the engine as a whole did not answer: nothing is known then of any of them.
pub(super) async fn apply(
    engine: &mut impl Engine,
    operations: &[Op],
    occasion: Occasion<'_>,
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let sent = Instant::now();
    let results = engine.apply(operations).await?;
    let took = sent.elapsed();
    let milliseconds = u64::try_from(occasion.since.elapsed().as_millis()).unwrap_or(u64::MAX);
    for (operation, result) in operations.iter().zip(&results) {
        occasion.metrics.operation(occasion.engine, operation, took, result.is_ok());
        if result.is_ok() {
            log_success(operation, occasion, milliseconds);
        }
    }
    Ok(results)
}

fn log_success(operation: &Op, occasion: Occasion<'_>, milliseconds: u64) {
    let network = network_of(operation);
    let is_intact = network.is_some_and(|network| occasion.intact.contains(network));
    let network = network.map(NetworkName::as_str);
    let attachment = attachment_of(operation);
    let adds = !matches!(operation, Op::RemovePort { .. } | Op::RemoveBridge { .. });
    if occasion.is_replay && matches!(operation, Op::CreatePort { .. }) {
        tracing::debug!(network, attachment, op = %operation, milliseconds, "made anew");
    } else if adds && is_intact {
        occasion.metrics.repair(occasion.engine);
        tracing::info!(network, attachment, op = %operation, milliseconds, "repaired");
    } else {
        tracing::info!(network, attachment, op = %operation, milliseconds, "done");
    }
}
