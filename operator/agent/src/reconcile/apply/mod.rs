//! Step five of a reconcile: applies the operations, and logs each once.

mod failed_operations;

pub(crate) use failed_operations::FailedOperations;

use crate::reconcile::steps::Applied;
use crate::report::history_recorder::{Attempt, Failure};
use crate::report::log_subject::LogSubject;
use crate::report::metrics::Metrics;
use std::time::Instant;
use tracing::field::display;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::{EngineDriver, EngineError, OpError};
use usnet_dataplane::plan::{Cause, Op, PlannedOp};

/// Additional input for the log and the metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApplyContext<'a> {
    pub engine: usnet_crds::EngineKind,
    pub metrics: &'a Metrics,
    /// The recorded attachments, with the pods of ports.
    pub records: &'a [Record],
    /// When the event that triggered this reconcile was seen.
    pub since: Instant,
    /// Whether the engine was just connected to. Then its lost ports are logged in one line.
    pub is_replay: bool,
}

/// Applies operations and returns a result for each. `causes` are in the order of the operations.
///
/// # Errors
/// The engine as a whole did not answer, so that the result of every operation is unknown.
pub(crate) async fn apply(
    engine: &mut impl EngineDriver,
    operations: &[Op],
    causes: &[Cause],
    context: ApplyContext<'_>,
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let sent = Instant::now();
    let results = engine.apply(operations).await?;
    let took = sent.elapsed();
    let milliseconds = u64::try_from(context.since.elapsed().as_millis()).unwrap_or(u64::MAX);
    for ((operation, cause), result) in operations.iter().zip(causes).zip(&results) {
        context.metrics.operation(context.engine, operation, took, result.is_ok());
        if result.is_ok() {
            log_success(operation, *cause, context, milliseconds);
        }
    }
    Ok(results)
}

/// Combines operations with their results, for the history.
pub(crate) fn attempts(
    operations: &[Op],
    causes: Vec<Cause>,
    results: Result<Vec<Result<(), OpError>>, EngineError>,
) -> Applied {
    let planned = operations.iter().cloned().zip(causes).map(|(op, cause)| PlannedOp { op, cause });
    match results {
        Ok(results) => {
            let failure = |result: Result<(), OpError>| result.err().map(|error| Failure::of(&error));
            let attempt = |(planned, result)| Attempt { planned, failure: failure(result) };
            Applied { attempts: planned.zip(results).map(attempt).collect(), engine_error: None }
        }
        Err(error) => {
            let engine_error = ErrorChain(&error).to_string();
            let failed = |planned| Attempt { planned, failure: Some(Failure::of_all(&engine_error)) };
            Applied { attempts: planned.map(failed).collect(), engine_error: Some(engine_error) }
        }
    }
}

fn log_success(operation: &Op, cause: Cause, context: ApplyContext<'_>, milliseconds: u64) {
    let LogSubject { network, pod, interface, attachment } = LogSubject::of(operation, context.records);
    let (pod, attachment) = (pod.map(display), attachment.map(display));
    let adds = !matches!(operation, Op::RemovePort { .. } | Op::RemoveBridge { .. });
    if context.is_replay && matches!(operation, Op::CreatePort { .. }) {
        tracing::debug!(network, pod, interface, attachment, op = %operation, %cause, milliseconds, "recreated");
    } else if adds && cause == Cause::Drift {
        context.metrics.repair(context.engine);
        tracing::info!(network, pod, interface, attachment, op = %operation, %cause, milliseconds, "repaired");
    } else {
        tracing::info!(network, pod, interface, attachment, op = %operation, %cause, milliseconds, "done");
    }
}
