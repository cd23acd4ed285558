//! The task of a session: serves one connection after the other.

use super::connection::Connection;
use super::state::Published;
use super::waiting::{Request, Waiting};
use super::{Instance, Options, State};
use crate::{Answers, Error};
use std::sync::Arc;
use tokio::sync::mpsc;
use usnet_transport::asynchronous::{Backoff, reject};

/// The task of a session. Ends only when it is aborted, or when all callers are gone.
pub(super) async fn run(options: Options, mut requests: mpsc::Receiver<Request>, published: Published) {
    let not_sent = |reason: &Arc<Error>| -> Result<Answers, Error> {
        Err(Error::NotSent { socket: options.socket.clone(), source: Arc::clone(reason) })
    };
    let mut reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
    let mut epoch = 0;
    let mut last_instance: Option<Instance> = None;
    let mut backoff = Backoff::new(options.retry_min, options.retry_max);
    loop {
        let opened = tokio::select! {
            opened = Connection::open(&options) => opened,
            () = reject(&mut requests, || not_sent(&reason)) => return,
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
        if !backoff.wait(&mut requests, || not_sent(&reason)).await {
            return;
        }
    }
}
