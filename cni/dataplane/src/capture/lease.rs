//! Who captures which port. One program captures a port, and few capture on a node.
//!
//! Each capture has two locks, one for its port and one for its number, and a file that describes
//! it. The locks end with the process and the file does not: a file without a lock is of a program
//! that ended before it removed what it had created in an engine.

use crate::model::attachment::{AttachmentId, Record};
use crate::model::capture::{CaptureNumber, lock_offset};
use crate::model::port::PortName;
use crate::store::atomic_file::{self, Durability};
use crate::store::locks::Lock;
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use usnet_crds::{EngineKind, NetworkName};

pub use crate::store::atomic_file::Error;

/// The file whose bytes are locked. It stays.
const LOCK_FILE: &str = ".lock";
const SIZE_MAX: u64 = 1 << 16;

/// Which port a capture is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The layout of this file; [`Description::VERSION`] when written by this release.
    pub version: u32,
    /// The engine that has the port.
    pub engine: EngineKind,
    pub network: NetworkName,
    pub attachment: AttachmentId,
    /// The pod, as `namespace/name`.
    pub pod: String,
}

impl Description {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;
}

impl From<&Record> for Description {
    fn from(record: &Record) -> Self {
        Self {
            version: Self::VERSION,
            engine: record.engine,
            network: record.network.clone(),
            attachment: record.id.clone(),
            pod: record.pod.to_string(),
        }
    }
}

/// The right to capture. Dropping it ends it.
#[derive(Debug)]
pub struct Lease {
    number: CaptureNumber,
    folder: PathBuf,
    _lock: Lock,
}

/// Whether a capture may start.
#[derive(Debug)]
pub enum Leased {
    /// The capture may be made, under this lease.
    Granted(Lease),
    /// Another program captures this port.
    PortBusy,
    /// As many capture on this node as may.
    TooMany,
}

/// The captures of a node.
#[derive(Debug, Clone)]
pub struct Leases {
    folder: PathBuf,
}

impl Leases {
    pub fn new(paths: &NodePaths) -> Self {
        Self { folder: paths.captures() }
    }

    /// Takes the locks for a capture of this port.
    ///
    /// # Errors
    /// The folder or the lock file cannot be used.
    pub fn take(&self, port: &PortName) -> Result<Leased, Error> {
        let lock = self.lock()?;
        if !lock.try_add(lock_offset(port))? {
            return Ok(Leased::PortBusy);
        }
        for number in CaptureNumber::all() {
            if lock.try_add(number.offset())? {
                return Ok(Leased::Granted(self.lease(number, lock)));
            }
        }
        Ok(Leased::TooMany)
    }

    /// Takes over a number that no program uses; none while one does.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_over(&self, number: CaptureNumber) -> Result<Option<Lease>, Error> {
        let lock = self.lock()?;
        Ok(lock.try_add(number.offset())?.then(|| self.lease(number, lock)))
    }

    fn lock(&self) -> Result<Lock, Error> {
        // Not for root only: engines may run as another user and connect to sockets in it.
        atomic_file::create_folder(&self.folder, 0o755)?;
        Lock::open(&self.folder.join(LOCK_FILE))
    }

    fn lease(&self, number: CaptureNumber, lock: Lock) -> Lease {
        Lease { number, folder: self.folder.clone(), _lock: lock }
    }

    /// The captures that are described: those that run, and those that a program left.
    pub fn described(&self) -> Vec<CaptureNumber> {
        let has_file = |number: &CaptureNumber| fs::symlink_metadata(file(&self.folder, *number)).is_ok();
        CaptureNumber::all().filter(has_file).collect()
    }
}

fn file(folder: &Path, number: CaptureNumber) -> PathBuf {
    folder.join(format!("{number}.json"))
}

impl Lease {
    pub fn number(&self) -> CaptureNumber {
        self.number
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.number))
    }

    /// Writes the description, before anything is created in the engine.
    pub fn describe(&self, description: &Description) -> Result<(), Error> {
        atomic_file::write(&file(&self.folder, self.number), description, Durability::Process)
    }

    /// The description; none if there is none that this release can read.
    pub fn description(&self) -> Option<Description> {
        atomic_file::read(&file(&self.folder, self.number), Description::VERSION, SIZE_MAX).ok()?
    }

    /// Removes the description and the socket, after everything is removed from the engine.
    pub fn finish(self) -> Result<(), Error> {
        atomic_file::remove(&self.socket())?;
        atomic_file::remove(&file(&self.folder, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::capture::CAPTURES_MAX;
    use crate::testing::{network, node_paths, record};

    fn port(number: u8) -> PortName {
        PortName::observed(&format!("vhu{number}"))
    }

    fn granted(leases: &Leases, number: u8) -> Lease {
        match leases.take(&port(number)).unwrap() {
            Leased::Granted(lease) => lease,
            refused => panic!("{refused:?}"),
        }
    }

    #[test]
    fn a_port_is_captured_once_and_a_node_has_few_captures() {
        let (_folder, paths) = node_paths();
        let leases = Leases::new(&paths);
        let mut all: Vec<Lease> = (0..CAPTURES_MAX).map(|number| granted(&leases, number)).collect();
        assert!(matches!(leases.take(&port(0)).unwrap(), Leased::PortBusy));
        assert!(matches!(leases.take(&port(100)).unwrap(), Leased::TooMany));
        let number = all.remove(2).number();
        assert_eq!(granted(&leases, 100).number(), number, "the one that ended");
    }

    #[test]
    fn what_a_program_left_is_found_and_taken_over_only_after_its_end() {
        let (_folder, paths) = node_paths();
        let leases = Leases::new(&paths);
        assert_eq!(leases.described(), []);
        let lease = granted(&leases, 1);
        let (number, description) = (lease.number(), Description::from(&record("c1", &network("blue"))));
        lease.describe(&description).unwrap();
        fs::write(lease.socket(), "").unwrap();
        assert!(leases.take_over(number).unwrap().is_none());
        drop(lease);
        assert_eq!(leases.described(), [number]);
        let taken = leases.take_over(number).unwrap().unwrap();
        assert_eq!(taken.description(), Some(description));
        taken.finish().unwrap();
        assert_eq!(leases.described(), []);
        let names: Vec<_> = fs::read_dir(paths.captures()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [LOCK_FILE]);
    }
}
