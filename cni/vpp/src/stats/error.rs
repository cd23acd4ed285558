//! Why counters could not be read.

use crate::Remedy;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The version of the layout that is read.
pub(super) const VERSION: u64 = 2;

/// Why counters could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The connection was refused, or VPP did not send its memory.
    #[error(
        "cannot get the counters of VPP at {path}; is VPP running, and does its section statseg have no other socket-name?",
        path = socket.display()
    )]
    Connect {
        /// VPP's socket of statistics.
        socket: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The counters have another layout.
    #[error(
        "the counters of VPP at {path} have version {found} of their layout, and usnet reads version {VERSION}; {remedy}",
        path = socket.display(),
        remedy = Remedy::UseRelease
    )]
    Version {
        /// VPP's socket of statistics.
        socket: PathBuf,
        /// The version that VPP has.
        found: u64,
    },
    /// Counters were added or removed during each attempt.
    #[error(
        "VPP at {path} added or removed counters all the time for {limit:?}; does it hang, or are many interfaces being created?",
        path = socket.display()
    )]
    Busy {
        /// VPP's socket of statistics.
        socket: PathBuf,
        /// How long it was tried.
        limit: Duration,
    },
    /// The memory does not have the layout of its version.
    #[error("cannot read the counters of VPP at {path}", path = socket.display())]
    Invalid {
        /// VPP's socket of statistics.
        socket: PathBuf,
        /// What is wrong.
        #[source]
        source: InvalidSegment,
    },
}

/// What is wrong with the memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSegment {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something would be outside of it.
    #[error("{length} bytes at address {address:#x} are outside of the memory of {size} bytes")]
    Outside {
        /// As VPP counts.
        address: u64,
        /// In bytes.
        length: u64,
        /// Of the memory, in bytes.
        size: u64,
    },
    /// Its vectors together are larger than the memory.
    #[error("its vectors are larger than the memory of {size} bytes")]
    Overlapping {
        /// Of the memory, in bytes.
        size: u64,
    },
}
