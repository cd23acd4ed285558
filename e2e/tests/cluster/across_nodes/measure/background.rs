//! Background threads in the network namespaces of stations, until the test ends them.

use crate::support::station::Station;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Whether such a thread has to end.
#[derive(Clone, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl End {
    pub(crate) fn has_come(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Threads with a result each. They end when this is dropped.
pub(crate) struct Background<T> {
    end: End,
    threads: Vec<(String, JoinHandle<T>)>,
}

impl<T: Send + 'static> Background<T> {
    pub(crate) fn new() -> Self {
        Self { end: End::default(), threads: Vec::new() }
    }

    /// Starts a thread in the network namespace of a station.
    pub(crate) fn add(&mut self, station: &Station, work: impl FnOnce(&End) -> T + Send + 'static) {
        let end = self.end.clone();
        self.threads.push((station.name.clone(), station.run(move || work(&end))));
    }

    /// Starts a thread in the network namespace of the control plane.
    pub(crate) fn add_outside(&mut self, name: &str, work: impl FnOnce(&End) -> T + Send + 'static) {
        let end = self.end.clone();
        self.threads.push((name.to_owned(), thread::spawn(move || work(&end))));
    }

    /// Ends them, and gives their results by name.
    pub(crate) fn end(mut self) -> Vec<(String, T)> {
        self.end.0.store(true, Ordering::SeqCst);
        self.threads.drain(..).map(|(name, thread)| (name, thread.join().unwrap())).collect()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.end.0.store(true, Ordering::SeqCst);
        for (_, thread) in self.threads.drain(..) {
            // A thread that panicked has printed why.
            drop(thread.join());
        }
    }
}
