//! The life cycle of a simulated VPP.

use crate::Error;
use crate::simulator::fault::Fault;
use crate::simulator::log::LogEntry;
use crate::simulator::server::shared::Shared;
use crate::simulator::server::thread::Server;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A simulated VPP, which is a thread of this process. Dropping it ends it; its socket files stay,
/// as VPP's do.
#[derive(Debug)]
pub struct Simulator {
    socket: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Starts a VPP that listens at `api.sock` in the folder, which is its runtime directory. It
    /// reads commands from `control.sock`, and logs all messages to `messages.log`.
    pub fn start(folder: &Path, faults: &[Fault]) -> Result<Self, Error> {
        Self::start_at(folder, &folder.join("api.sock"), faults)
    }

    /// Like [`Self::start`], with another path for the socket of the API.
    pub fn start_at(folder: &Path, socket: &Path, faults: &[Fault]) -> Result<Self, Error> {
        let (shared, woken) = Shared::new(&folder.join("messages.log"), faults)?;
        let server = Server::bind(folder, socket, Arc::clone(&shared), woken)?;
        let run = move || server.run();
        let spawned = std::thread::Builder::new().name("vpp-simulator".to_owned()).spawn(run);
        let thread = spawned.map_err(|source| Error::Run { program: "the simulator's thread", source })?;
        Ok(Self { socket: socket.to_owned(), shared, thread: Some(thread) })
    }

    /// Returns the socket of the binary API.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Injects a fault. It is in effect when this returns.
    pub fn fault(&self, fault: Fault) {
        self.shared.faults().add(fault);
        self.shared.wake();
    }

    /// Clears all faults. Requests of the meantime are answered.
    pub fn clear_faults(&self) {
        self.shared.faults().clear();
        self.shared.wake();
    }

    /// Returns all messages since the start and through all restarts, in the order of their
    /// execution.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        self.shared.log().entries()
    }

    /// Counts packets and bytes of an interface, for example at `/if/rx`.
    pub fn count(&self, entry: &str, sw_if_index: u32, packets: u64, bytes: u64) {
        self.shared.stats.count(entry, sw_if_index, &[packets, bytes]);
    }

    /// Counts packets of an interface, for example at `/if/drops`.
    pub fn count_packets(&self, entry: &str, sw_if_index: u32, packets: u64) {
        self.shared.stats.count(entry, sw_if_index, &[packets]);
    }

    /// Counts errors, for example at `/err/memif0/0-tx/no_free_slots`.
    pub fn count_errors(&self, entry: &str, errors: u64) {
        self.shared.stats.count_error(entry, errors);
    }

    /// Whether no fault has ended it.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.is_running()
    }

    /// Waits until a fault ends it.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was written to standard error, and fails the requests of its
            // clients.
            let _ended = thread.join();
        }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.shared.stop();
        self.join();
    }
}
