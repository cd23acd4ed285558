//! Shutdown of the process on a signal from Kubernetes or a user.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// A future that is ready after the first SIGTERM or SIGINT. From this call on the signals no
/// longer terminate the process.
///
/// # Errors
/// When the signal handlers cannot be installed. Must be called inside a tokio runtime.
pub(crate) fn requested() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "shutting down");
    })
}
