//! The callers of a session and its task.

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Requests that wait for the task; more of them wait in their callers. Enough to keep a server
/// busy while the task handles received data, and few enough that the memory of waiting requests
/// stays small.
const QUEUE: usize = 64;

/// A request on its way to the task, with the way back for its answer.
#[derive(Debug)]
pub struct Request<Q, A> {
    /// What to send to the server.
    pub content: Q,
    /// Where the caller waits. The receiver is gone if the caller was cancelled.
    pub answer: oneshot::Sender<A>,
}

/// The callers' end of a session, which can be cloned. The session ends although callers exist.
#[derive(Debug)]
pub struct Caller<Q, A, S> {
    requests: mpsc::Sender<Request<Q, A>>,
    state: watch::Receiver<S>,
}

impl<Q, A, S> Caller<Q, A, S> {
    /// The callers' end, the task's end, and what the task publishes the session's state with.
    #[must_use]
    pub fn new(initial: S) -> (Self, mpsc::Receiver<Request<Q, A>>, watch::Sender<S>) {
        let (requests, receiver) = mpsc::channel(QUEUE);
        let (sender, state) = watch::channel(initial);
        (Self { requests, state }, receiver, sender)
    }

    /// The session's state, with a way to wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<S> {
        self.state.clone()
    }

    /// Waits until `pick` finds something in the state; indefinitely, if need be. `None` if the
    /// session has ended.
    pub async fn wait_for<T>(&self, pick: impl Fn(&S) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        let found = state.wait_for(|state| pick(state).is_some()).await.ok()?;
        pick(&found)
    }

    /// Sends a request to the task and waits for the answer. `None` if the session has ended.
    pub async fn call(&self, content: Q) -> Option<A> {
        let (answer, receiver) = oneshot::channel();
        self.requests.send(Request { content, answer }).await.ok()?;
        receiver.await.ok()
    }
}

// Derived, it would be a clone only for contents, answers and states that can be cloned.
impl<Q, A, S> Clone for Caller<Q, A, S> {
    fn clone(&self) -> Self {
        Self { requests: self.requests.clone(), state: self.state.clone() }
    }
}

/// The task of a session, which ends when this is dropped.
#[derive(Debug)]
pub struct Task(JoinHandle<()>);

impl Task {
    /// Starts the task on the current tokio runtime (of either kind).
    #[must_use = "the task ends when it is dropped"]
    pub fn start(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
