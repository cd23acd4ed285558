//! What happened in a run, printed only if it fails: a run that passed should not add a thousand
//! lines to the output of all tests.

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
