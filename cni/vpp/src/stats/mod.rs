//! VPP's statistics: counters in shared memory, which VPP provides at a socket of its own.
//!
//! VPP sends a memfd to each client that connects (`SOCK_SEQPACKET`, `SCM_RIGHTS`), and does
//! nothing else: no message is exchanged, and VPP is not interrupted by a reader. The memory is
//! read with `pread`, so that nothing is mapped and its content can at worst be a wrong number:
//! each address is checked against the size of the memory.
//!
//! - [`Reader`]: connects for each reading, so that the numbers of a VPP that has ended are never
//!   taken for those of a running one.
//! - `segment`: the memory, and vectors in it.
//! - `directory`: the places of the entries. It is kept as long as the epoch stays the same: with
//!   1,000 interfaces it has 25,000 entries.
//! - [`Snapshot`]: the counters of one time.
//!
//! The layout is the same in 23.06, 25.06 and 26.06 (`vlib/stats/shared.h`, version 2). VPP changes
//! it as follows:
//! - It changes entries and moves vectors only while `in_progress` is set, and increments `epoch`
//!   before it clears that. A copy is consistent if neither has changed. Within an epoch only
//!   numbers change; packets and bytes of one counter may differ by a frame.
//! - `/if/tx` counts frames that were dropped because the ring of the peer is full. They are
//!   counted under `/err/<interface>-tx/` as well, and nowhere else for a memif.
//!
//! The memfd is writable: it is never passed on.

mod directory;
mod error;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;

pub use error::{InvalidSegment, StatsError};
pub use snapshot::{Combined, Snapshot};

use directory::Directory;
use error::VERSION;
use segment::{Header, Segment};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause before the memory is copied again. VPP needs less for most changes.
const RETRY: Duration = Duration::from_micros(200);

#[derive(Debug)]
pub struct Reader {
    socket: PathBuf,
    timeout: Duration,
    is_wanted: fn(&str) -> bool,
    directory: Option<Arc<Directory>>,
}

impl Reader {
    /// Prepares to read the requested entries of the VPP that listens at `socket`. `timeout` limits
    /// each reading.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>, timeout: Duration, is_wanted: fn(&str) -> bool) -> Self {
        Self { socket: socket.into(), timeout, is_wanted, directory: None }
    }

    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Reads all requested counters of one time.
    ///
    /// # Errors
    /// [`StatsError::Connect`] if VPP does not run.
    pub fn read(&mut self) -> Result<Snapshot, StatsError> {
        let deadline = Instant::now() + self.timeout;
        let segment = self.connect()?;
        loop {
            if let Some(snapshot) = self.attempt(&segment)? {
                return Ok(snapshot);
            }
            if Instant::now() >= deadline {
                return Err(StatsError::Busy { socket: self.socket.clone(), limit: self.timeout });
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Whether no entry was added, removed or moved since: VPP has the same interfaces, unless one
    /// is being created at this time.
    pub fn is_current(&self, snapshot: &Snapshot) -> Result<bool, StatsError> {
        let segment = self.connect()?;
        let header = self.header(&segment)?;
        Ok(header.in_progress == 0 && snapshot.directory().is_of(&segment, &header))
    }

    fn connect(&self) -> Result<Segment, StatsError> {
        let segment = Segment::receive(&self.socket, self.timeout);
        segment.map_err(|source| StatsError::Connect { socket: self.socket.clone(), source })
    }

    fn header(&self, segment: &Segment) -> Result<Header, StatsError> {
        let header = segment.header().map_err(|source| self.invalid(source))?;
        match header.version {
            VERSION => Ok(header),
            found => Err(StatsError::Version { socket: self.socket.clone(), found }),
        }
    }

    fn invalid(&self, source: InvalidSegment) -> StatsError {
        StatsError::Invalid { socket: self.socket.clone(), source }
    }

    /// Returns `None` if VPP changed entries meanwhile.
    fn attempt(&mut self, segment: &Segment) -> Result<Option<Snapshot>, StatsError> {
        let before = self.header(segment)?;
        if before.in_progress != 0 {
            return Ok(None);
        }
        let copied = self.copy(segment, &before);
        // The order matters: VPP increments the epoch before it clears `in_progress`.
        let is_in_progress = segment.is_in_progress().map_err(|source| self.invalid(source))?;
        if is_in_progress || self.header(segment)?.epoch != before.epoch {
            return Ok(None);
        }
        // An address outside of the memory is an error only in a consistent copy.
        let snapshot = copied.map_err(|source| self.invalid(source))?;
        self.directory = Some(Arc::clone(snapshot.directory()));
        Ok(Some(snapshot))
    }

    fn copy(&self, segment: &Segment, header: &Header) -> Result<Snapshot, InvalidSegment> {
        let directory = match &self.directory {
            Some(directory) if directory.is_of(segment, header) => Arc::clone(directory),
            _ => Arc::new(Directory::read(segment, header, self.is_wanted)?),
        };
        Snapshot::read(segment, header, directory)
    }
}
