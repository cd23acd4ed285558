//! What the simulator's thread shares with the test: faults, the log, and whether it is to end.

use crate::Error;
use crate::simulator::fault::{Fault, Faults};
use crate::simulator::log::Log;
use crate::simulator::stats::Stats;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct Shared {
    faults: Mutex<Faults>,
    log: Mutex<Log>,
    pub(crate) stats: Stats,
    stopped: AtomicBool,
    running: AtomicBool,
    /// A byte in here wakes the thread.
    waker: UnixStream,
}

impl Shared {
    /// Returns the end that the thread polls as well.
    pub(crate) fn new(log: &Path, faults: &[Fault]) -> Result<(Arc<Self>, UnixStream), Error> {
        let pair = UnixStream::pair().and_then(|(waker, woken)| {
            waker.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            Ok((waker, woken))
        });
        let (waker, woken) = pair.map_err(|source| Error::Run { program: "the simulator's thread", source })?;
        let mut in_force = Faults::default();
        faults.iter().cloned().for_each(|fault| in_force.add(fault));
        let shared = Self {
            faults: Mutex::new(in_force),
            log: Mutex::new(Log::create(log)?),
            stats: Stats::new().map_err(|source| Error::Run { program: "the simulator's counters", source })?,
            stopped: AtomicBool::new(false),
            running: AtomicBool::new(true),
            waker,
        };
        Ok((Arc::new(shared), woken))
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the thread look at the faults again.
    pub(crate) fn wake(&self) {
        // It fails when the buffer is full, and then the thread is woken anyway.
        let _woken = (&self.waker).write(&[0]);
    }

    /// Tells the thread to end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The thread says that it ends.
    pub(crate) fn ended(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }
}
