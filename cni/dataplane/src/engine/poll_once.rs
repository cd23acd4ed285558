//! Drivers without an async runtime: with a blocking client below them they never have to wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A future was expected to be ready at the first poll and was not: it waits for something else
/// than a blocking client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the future waits for something else than a blocking client; it needs an async runtime")]
pub struct WouldBlock;

/// Runs a future that never waits, such as a driver on a blocking client, without a runtime.
///
/// # Errors
/// [`WouldBlock`] if it is not ready at the first poll.
pub fn poll_once<F: Future>(future: F) -> Result<F::Output, WouldBlock> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(WouldBlock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_that_waits_is_an_error_and_not_a_hang() {
        assert_eq!(poll_once(async { 7 }), Ok(7));
        assert_eq!(poll_once(std::future::pending::<()>()), Err(WouldBlock));
    }
}
