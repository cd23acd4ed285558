//! The trace of a run, which is printed only if it fails: a successful run should not add a
//! thousand lines to the output of all tests.

use std::sync::{Mutex, PoisonError};

/// The events, one line each, in order.
#[derive(Debug, Default)]
pub(crate) struct Trace(Mutex<Vec<String>>);

impl Trace {
    pub(crate) fn note(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Returns all lines.
    pub(crate) fn tell(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}
