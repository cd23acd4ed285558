//! Waiting for a condition, never for a length of time.

use std::thread;
use std::time::{Duration, Instant};

/// Pause between two looks. Short, because a test bed's start is a chain of such waits.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks again and again until `condition` holds; false when it did not within `limit`.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    try_until(limit, || Ok::<bool, std::convert::Infallible>(condition())).unwrap_or(false)
}

/// The same for a condition that can fail for good.
///
/// # Errors
/// The first error of `condition`.
pub fn try_until<E>(limit: Duration, mut condition: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let deadline = Instant::now() + limit;
    loop {
        if condition()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
}
