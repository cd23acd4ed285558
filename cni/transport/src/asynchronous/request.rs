//! What the callers of a session and its task exchange.

use super::connection::Connection;
use super::state::State;
use std::sync::Arc;
use tokio::sync::oneshot;

pub(super) type SessionState<C> = State<<C as Connection>::Connected, Arc<<C as Connection>::Error>>;
pub(super) type Answer<C> = Result<<C as Connection>::Answer, <C as Connection>::Error>;

/// A request on its way to the task, with the way back for its answer.
pub(super) struct Request<C: Connection> {
    pub(super) content: C::Request,
    /// The receiver is gone if the caller was cancelled.
    pub(super) answer: oneshot::Sender<Answer<C>>,
}
