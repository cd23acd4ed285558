//! The state that the simulator's thread shares with the test.

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
    /// A byte in this socket wakes the thread.
    waker: UnixStream,
}

impl Shared {
    /// Also returns the socket that the thread has to poll.
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

    /// Wakes the thread, so that it sees changed faults.
    pub(crate) fn wake(&self) {
        // An error means that the buffer is full, and that the thread is woken anyway.
        let _woken = (&self.waker).write(&[0]);
    }

    /// Makes the thread end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The thread calls this when it ends.
    pub(crate) fn ended(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }
}
