//! Failures that repeat are logged once.

use super::ErrorChain;
use std::error::Error;

/// Whether a repeated operation failed the last time.
#[derive(Debug, Default)]
pub struct FirstFailure(bool);

impl FirstFailure {
    /// Logs a failure if it is the first after a success. Returns whether it is a failure.
    pub fn log<T, E: Error + 'static>(&mut self, result: &Result<T, E>, text: &str) -> bool {
        match result {
            Err(error) if !self.0 => tracing::warn!(error = %ErrorChain(error), "{text}"),
            _ => {}
        }
        self.0 = result.is_err();
        self.0
    }
}
