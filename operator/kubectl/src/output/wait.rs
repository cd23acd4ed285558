//! What the user is told during a wait (IO).

use std::fmt::Display;
use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// A user wonders after this time whether a program hangs.
pub(crate) const QUIET: Duration = Duration::from_secs(2);
/// What most commands wait for.
pub(crate) const API_SERVER: &str = "the API server";

/// Prints a line to standard error.
pub(crate) fn tell(text: impl Display) {
    // Standard error may be closed.
    let _printed = writeln!(io::stderr(), "{text}");
}

/// Awaits, and tells the user what for if that takes longer than [`QUIET`].
pub(crate) async fn waiting<T>(what: impl Display, awaited: impl Future<Output = T>) -> T {
    let mut awaited = pin!(awaited);
    match timeout(QUIET, &mut awaited).await {
        Ok(result) => result,
        Err(_) => {
            tell(format_args!("waiting for {what}"));
            awaited.await
        }
    }
}
