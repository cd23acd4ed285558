//! The batches in flight, with their callers.

use crate::endpoint::BatchId;
use crate::{Answers, Batch, Error};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A batch on its way to the task.
pub(super) type Request = usnet_transport::asynchronous::Request<Batch, Result<Answers, Error>>;

/// The batches that VPP works on.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    callers: BTreeMap<BatchId, Caller>,
    deadlines: BTreeSet<(Instant, BatchId)>,
}

#[derive(Debug)]
struct Caller {
    answer: oneshot::Sender<Result<Answers, Error>>,
    deadline: Instant,
    limit: Duration,
}

impl Waiting {
    pub(super) fn add(&mut self, batch: BatchId, answer: oneshot::Sender<Result<Answers, Error>>, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.deadlines.insert((deadline, batch));
        self.callers.insert(batch, Caller { answer, deadline, limit });
    }

    pub(super) fn answer(&mut self, batch: BatchId, answers: Answers) {
        if let Some(caller) = self.callers.remove(&batch) {
            self.deadlines.remove(&(caller.deadline, batch));
            // The receiver is gone if the caller was cancelled.
            let _receiver_gone = caller.answer.send(Ok(answers));
        }
    }

    /// When the first batch has to be answered.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The timeout of the batch with the first deadline.
    pub(super) fn first_limit(&self) -> Option<Duration> {
        let (_, batch) = self.deadlines.first()?;
        self.callers.get(batch).map(|caller| caller.limit)
    }

    /// Reports to all callers that their answers are lost.
    pub(super) fn fail(self, socket: &Path, reason: &Arc<Error>) {
        for caller in self.callers.into_values() {
            let error = Error::AnswerLost { socket: socket.to_owned(), source: Arc::clone(reason) };
            let _receiver_gone = caller.answer.send(Err(error));
        }
    }
}
