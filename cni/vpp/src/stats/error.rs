//! Errors of reading counters.

use crate::Remedy;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The supported version of the layout.
pub(super) const VERSION: u64 = 2;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The connection was refused, or VPP did not send its memory.
    #[error(
        "cannot get the counters of VPP at {path}; is VPP running, and does its section statseg have no other socket-name?",
        path = socket.display()
    )]
    Connect {
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the counters of VPP at {path} have version {found} of their layout, and usnet reads version {VERSION}; {remedy}",
        path = socket.display(),
        remedy = Remedy::UseRelease
    )]
    Version {
        socket: PathBuf,
        /// VPP's version.
        found: u64,
    },
    /// Counters were added or removed during each attempt.
    #[error(
        "VPP at {path} added or removed counters all the time for {limit:?}; does it hang, or are many interfaces being created?",
        path = socket.display()
    )]
    Busy {
        socket: PathBuf,
        /// The time of all attempts.
        limit: Duration,
    },
    /// The memory does not have the layout of its version.
    #[error("cannot read the counters of VPP at {path}", path = socket.display())]
    Invalid {
        socket: PathBuf,
        #[source]
        source: InvalidSegment,
    },
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSegment {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{length} bytes at address {address:#x} are outside of the memory of {size} bytes")]
    Outside {
        /// The address in VPP's process.
        address: u64,
        /// The length in bytes.
        length: u64,
        /// The size of the memory in bytes.
        size: u64,
    },
    /// All vectors together are larger than the memory.
    #[error("its vectors are larger than the memory of {size} bytes")]
    Overlapping {
        /// The size of the memory in bytes.
        size: u64,
    },
}
