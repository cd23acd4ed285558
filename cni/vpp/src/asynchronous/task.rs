//! Connects, and connects again.

use super::connection::{Connection, Waiting};
use super::instance::Instance;
use super::{Options, Published, Request, State};
use crate::Error;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// The task of a session. Ends only when it is aborted, or when all senders of requests are
/// dropped.
pub(super) async fn run(options: Options, mut requests: mpsc::Receiver<Request>, published: Published) {
    let mut reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
    let mut epoch = 0;
    let mut last_instance: Option<Instance> = None;
    let mut pause = options.retry_min;
    loop {
        let started = Instant::now();
        let opened = tokio::select! {
            opened = Connection::open(&options) => opened,
            () = reject(&options, &mut requests, &reason) => return,
        };
        let mut waiting = Waiting::default();
        let error = match opened {
            Ok(mut connection) => {
                epoch += 1;
                let restarted = last_instance.is_some_and(|last| last != connection.instance());
                last_instance = Some(connection.instance());
                connection.publish(epoch, restarted, &published);
                connection.run(&mut requests, &mut waiting, &published.state).await
            }
            Err(error) => error,
        };
        reason = Arc::new(error);
        published.state.send_replace(State::Disconnected { reason: Arc::clone(&reason) });
        waiting.fail(&options.socket, &reason);
        // If VPP accepts connections and drops them immediately, reconnecting backs off.
        if started.elapsed() > options.retry_max {
            pause = options.retry_min;
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = reject(&options, &mut requests, &reason) => return,
        }
        pause = (pause * 2).min(options.retry_max);
    }
}

/// Requests are not queued without a connection: a batch fails at once. Returns when all senders
/// are dropped.
async fn reject(options: &Options, requests: &mut mpsc::Receiver<Request>, reason: &Arc<Error>) {
    while let Some(request) = requests.recv().await {
        let error = Error::NotSent { socket: options.socket.clone(), source: Arc::clone(reason) };
        // The receiver is gone if the caller was cancelled.
        let _receiver_gone = request.answer.send(Err(error));
    }
}
