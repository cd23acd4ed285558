//! Connects, and connects again.

use super::connection::{Connection, Waiting};
use super::instance::Instance;
use super::{Options, Published, Request, State};
use crate::Error;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// The life of a session. Ends only by being aborted, or when nobody can ask any more.
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
        // A VPP that takes connections and drops them at once is not met with one connection after the other.
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

/// Nothing is sent later than its caller could expect: without a connection a batch fails at once.
/// Returns when nobody can ask any more.
async fn reject(options: &Options, requests: &mut mpsc::Receiver<Request>, reason: &Arc<Error>) {
    while let Some(request) = requests.recv().await {
        let error = Error::NotSent { socket: options.socket.clone(), source: Arc::clone(reason) };
        // A caller that does not wait any more needs no answer.
        let _receiver_gone = request.answer.send(Err(error));
    }
}
