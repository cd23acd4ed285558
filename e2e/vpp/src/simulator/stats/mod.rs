//! The counters of interfaces, in shared memory that clients get at `stats.sock`. Only tests count,
//! because no packets are simulated.

mod memory;

use memory::{Kind, Memory, THREADS};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const COMBINED: [&str; 8] =
    ["rx", "rx-unicast", "rx-multicast", "rx-broadcast", "tx", "tx-unicast", "tx-multicast", "tx-broadcast"];
const SIMPLE: [&str; 9] = ["drops", "punt", "ip4", "ip6", "rx-no-buf", "rx-miss", "rx-error", "tx-error", "mpls"];
const ERRORS: &str = "/node/errors";
const OUTPUT_ERRORS: [&str; 3] = ["interface is down", "interface is deleted", "no tx queue available"];

/// The counters, shared by the simulator's thread and the test.
#[derive(Debug, Clone)]
pub(crate) struct Stats(Arc<Mutex<Counters>>);

#[derive(Debug)]
struct Counters {
    memory: Memory,
    /// The number of elements of the vector of errors that are in use.
    errors: u64,
}

impl Stats {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(Counters::create()?))))
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the memory with an empty one, as a start of VPP does.
    pub(crate) fn reset(&self) {
        // Without memory for new counters, those of interfaces that no longer exist stay.
        if let Ok(counters) = Counters::create() {
            *self.lock() = counters;
        }
    }

    pub(crate) fn add_interface(&self, sw_if_index: u32, name: &str, tx_errors: &[&str]) {
        self.lock().add_interface(sw_if_index.into(), name, tx_errors);
    }

    pub(crate) fn remove_interface(&self, name: &str, tx_errors: &[&str]) {
        self.lock().memory.change(|memory| {
            entries(name, tx_errors).iter().for_each(|entry| memory.remove(entry));
        });
    }

    /// Adds to a counter, either packets and bytes or one number.
    pub(crate) fn count(&self, entry: &str, index: u32, numbers: &[u64]) {
        let mut counters = self.lock();
        if let Some(position) = counters.memory.position(entry) {
            counters.memory.count(position, THREADS - 1, index.into(), numbers);
        }
    }

    /// Adds to a counter of errors of an interface.
    pub(crate) fn count_error(&self, entry: &str, number: u64) {
        let mut counters = self.lock();
        if let Some((errors, column)) = counters.symlinked(entry) {
            counters.memory.count(errors, 0, column, &[number]);
        }
    }

    /// Sends the memory to a client that has connected.
    pub(crate) fn send(&self, client: BorrowedFd<'_>) -> io::Result<()> {
        let counters = self.lock();
        let descriptors = [counters.memory.file().as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(client, &[IoSlice::new(&[])], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

impl Counters {
    fn create() -> io::Result<Self> {
        let mut memory = Memory::create()?;
        memory.change(|memory| {
            for name in ["/sys/heartbeat", "/sys/last_stats_clear", "/sys/boottime"] {
                memory.add(name, Kind::Scalar, 1);
            }
            memory.add_vector(ERRORS, Kind::Simple);
            for name in COMBINED {
                memory.add_vector(&format!("/if/{name}"), Kind::Combined);
            }
            for name in SIMPLE {
                memory.add_vector(&format!("/if/{name}"), Kind::Simple);
            }
        });
        Ok(Self { memory, errors: 0 })
    }

    fn add_interface(&mut self, sw_if_index: u64, name: &str, tx_errors: &[&str]) {
        let errors = &mut self.errors;
        self.memory.change(|memory| {
            for counter in COMBINED.into_iter().chain(SIMPLE) {
                let Some(vectors) = memory.position(&format!("/if/{counter}")) else { continue };
                memory.clear(vectors, sw_if_index);
                memory.add(&of_interface(name, counter), Kind::Symlink, vectors | (sw_if_index << 32));
            }
            let Some(vectors) = memory.position(ERRORS) else { return };
            for entry in error_entries(name, tx_errors) {
                memory.clear(vectors, *errors);
                memory.add(&entry, Kind::Symlink, vectors | (*errors << 32));
                *errors += 1;
            }
        });
    }

    /// Resolves a symlink to its entry and element.
    fn symlinked(&self, entry: &str) -> Option<(u64, u64)> {
        let value = self.memory.value(self.memory.position(entry)?);
        Some((value & 0xffff_ffff, value >> 32))
    }
}

fn of_interface(name: &str, counter: &str) -> String {
    format!("/interfaces/{}/{counter}", name.replace('/', "_"))
}

fn error_entries(name: &str, tx_errors: &[&str]) -> Vec<String> {
    let of_output = OUTPUT_ERRORS.iter().map(|error| format!("/err/{name}-output/{error}"));
    of_output.chain(tx_errors.iter().map(|error| format!("/err/{name}-tx/{error}"))).collect()
}

/// Returns the names of all entries of an interface.
fn entries(name: &str, tx_errors: &[&str]) -> Vec<String> {
    let counters = COMBINED.into_iter().chain(SIMPLE).map(|counter| of_interface(name, counter));
    counters.chain(error_entries(name, tx_errors)).collect()
}
