//! The task of a session: serves one connection after the other.

use super::connection::Connection;
use super::waiting::{Request, Waiting};
use super::{Options, State};
use crate::Error;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use usnet_transport::asynchronous::Backoff;

/// The task of a session. Ends only when it is aborted, or when all callers are gone.
pub(super) async fn run(options: Options, mut requests: mpsc::Receiver<Request>, state: watch::Sender<State>) {
    let mut epoch = 0;
    let mut backoff = Backoff::new(options.retry_min, options.retry_max);
    loop {
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
        let refuse = || Err(Error::NotSent { socket: options.socket.clone(), source: Arc::clone(&reason) });
        if !backoff.wait(&mut requests, refuse).await {
            return;
        }
    }
}
