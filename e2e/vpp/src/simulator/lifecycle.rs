//! Starting a simulated VPP, making it fail, and ending it.

use crate::Error;
use crate::simulator::fault::Fault;
use crate::simulator::log::LogEntry;
use crate::simulator::server::shared::Shared;
use crate::simulator::server::thread::Server;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A simulated VPP: a thread of this process. It ends when it is dropped; its socket files stay, as
/// VPP's do.
#[derive(Debug)]
pub struct Simulator {
    socket: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Starts one that listens at `api.sock` in the folder, which is its runtime directory.
    /// Commands are taken at `control.sock`, and what it did is written to `messages.log`.
    ///
    /// # Errors
    /// When a socket cannot be bound or the log not written.
    pub fn start(folder: &Path, faults: &[Fault]) -> Result<Self, Error> {
        Self::start_at(folder, &folder.join("api.sock"), faults)
    }

    /// Like [`Self::start`], with another path for the socket of the API.
    ///
    /// # Errors
    /// When a socket cannot be bound or the log not written.
    pub fn start_at(folder: &Path, socket: &Path, faults: &[Fault]) -> Result<Self, Error> {
        let (shared, woken) = Shared::new(&folder.join("messages.log"), faults)?;
        let server = Server::bind(folder, socket, Arc::clone(&shared), woken)?;
        let run = move || server.run();
        let spawned = std::thread::Builder::new().name("vpp-simulator".to_owned()).spawn(run);
        let thread = spawned.map_err(|source| Error::Run { program: "the simulator's thread", source })?;
        Ok(Self { socket: socket.to_owned(), shared, thread: Some(thread) })
    }

    /// The socket of the binary API.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Makes something go wrong from now on. It is in force when this returns.
    pub fn fault(&self, fault: Fault) {
        self.shared.faults().add(fault);
        self.shared.wake();
    }

    /// Takes all faults back. What was not answered meanwhile is answered.
    pub fn well(&self) {
        self.shared.faults().clear();
        self.shared.wake();
    }

    /// All messages that came, in the order in which they were done, since the start and through
    /// all restarts.
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

    /// Whether it has not died.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.is_running()
    }

    /// Waits until it dies of a fault.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was written to standard error; the client of the simulator
            // fails by it.
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
