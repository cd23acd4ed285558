//! The connection of a program in a container.

use futures::poll;
use std::fmt::Display;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use tokio::task::unconstrained;

/// Awaits `reading`, which reads the outputs of a program to their ends. The error says why the
/// connection broke, which `connection` returns: kube does not end the outputs then
/// (`AttachedProcess`), and reading them would never end.
pub(super) async fn unless_broken<T>(
    reading: impl Future<Output = T>,
    connection: impl Future<Output = Result<(), impl Display>>,
) -> Result<T, String> {
    // Without a budget it reads all that has come before it waits.
    let mut reading = pin!(unconstrained(reading));
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        read = &mut reading => return Ok(read),
        ended = &mut connection => if let Err(error) = ended {
            return match poll!(&mut reading) {
                Poll::Ready(read) => Ok(read),
                Poll::Pending => Err(format!("the connection broke: {error}")),
            };
        },
    }
    Ok(reading.await)
}
