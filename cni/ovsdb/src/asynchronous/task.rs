//! Connects, and connects again.

use super::connection::{Connection, Waiting};
use super::{Options, Request, State};
use crate::Error;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The task of a session. Ends only when it is aborted, or when all senders of requests are
/// dropped.
pub(super) async fn run(options: Options, mut requests: mpsc::Receiver<Request>, state: watch::Sender<State>) {
    let mut epoch = 0;
    let mut pause = options.retry_min;
    loop {
        let started = Instant::now();
        let mut waiting = Waiting::default();
        let reason = match Connection::open(&options, epoch + 1).await {
            Ok(mut connection) => connection.run(&mut requests, &mut waiting, &state).await,
            Err(error) => error,
        };
        let reason = Arc::new(reason);
        if let State::Connected(snapshot) = &*state.borrow() {
            epoch = snapshot.epoch;
        }
        state.send_replace(State::Disconnected { reason: Arc::clone(&reason) });
        waiting.fail(&options.socket, &reason);
        // If a server accepts connections and drops them immediately, reconnecting backs off.
        if started.elapsed() > options.retry_max {
            pause = options.retry_min;
        }
        if reject_until(Instant::now() + pause, &options, &mut requests, &reason).await.is_none() {
            return;
        }
        pause = (pause * 2).min(options.retry_max);
    }
}

/// Requests are not queued without a connection: a transaction fails at once. Returns `None` when
/// all senders are dropped.
async fn reject_until(
    end: Instant,
    options: &Options,
    requests: &mut mpsc::Receiver<Request>,
    reason: &Arc<Error>,
) -> Option<()> {
    while let Ok(request) = tokio::time::timeout_at(end, requests.recv()).await {
        let error = Error::NotSent { socket: options.socket.clone(), source: Arc::clone(reason) };
        // The receiver is gone if the caller was cancelled.
        let _receiver_gone = request?.answer.send(Err(error));
    }
    Some(())
}
