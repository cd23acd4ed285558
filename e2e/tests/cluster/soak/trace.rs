//! What happened in a week, told only if it fails: somebody who reads the output of all tests should not have to pass a thousand lines of one that went well.

use std::sync::{Mutex, PoisonError};

/// One line for each thing that happened, in order.
#[derive(Debug, Default)]
pub(crate) struct Trace(Mutex<Vec<String>>);

impl Trace {
    pub(crate) fn note(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// All that was noted.
    pub(crate) fn tell(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}
