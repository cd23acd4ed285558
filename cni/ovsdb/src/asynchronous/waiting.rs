//! The transactions in flight, with their callers.

use crate::Error;
use crate::transact::Answer;
use crate::wire::RequestId;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Transactions in flight; further ones wait in the queue. The server handles them one after the
/// other: more in flight would not be faster, and their answers would all be held in its memory.
const WINDOW: usize = 64;

/// The parameters of a transaction, on their way to the task.
pub(super) type Request = usnet_transport::asynchronous::Request<Box<RawValue>, Result<Answer, Error>>;

/// The transactions that the server works on.
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<RequestId, oneshot::Sender<Result<Answer, Error>>>);

impl Waiting {
    /// Whether another transaction may be sent. Those of cancelled callers do not count.
    pub(super) fn has_room(&mut self) -> bool {
        if self.0.len() >= WINDOW {
            self.0.retain(|_, answer| !answer.is_closed());
        }
        self.0.len() < WINDOW
    }

    pub(super) fn add(&mut self, request: RequestId, answer: oneshot::Sender<Result<Answer, Error>>) {
        self.0.insert(request, answer);
    }

    pub(super) fn remove(&mut self, request: RequestId) -> Option<oneshot::Sender<Result<Answer, Error>>> {
        self.0.remove(&request)
    }

    /// Reports to all callers that their answer is lost.
    pub(super) fn fail(self, socket: &Path, reason: &Arc<Error>) {
        for answer in self.0.into_values() {
            let error = Error::AnswerLost { socket: socket.to_owned(), source: Arc::clone(reason) };
            let _receiver_gone = answer.send(Err(error));
        }
    }
}
