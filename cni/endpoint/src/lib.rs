//! A program's end of a vhost-user or memif port, without DPDK and without privileges: a Unix
//! socket, memory that both sides share, and eventfds.
//!
//! The peer is an engine. What it writes into the shared memory is checked before it is used: a
//! wrong number is an [`Error`], never an access outside of the memory. `vm-memory` maps it and
//! checks each access, so this crate has no `unsafe` code of its own.

mod error;
pub mod memif;
mod memory;
pub mod vhost_user;
mod wake;

pub use error::Error;

use std::time::Duration;

/// The longest frame that a port sends or receives, in bytes and without the checksum.
pub const FRAME_MAX: usize = 9728;

/// A program's end of a port, with one queue in each direction.
pub trait Port {
    /// # Errors
    /// [`Error::Full`] while the engine does not take frames, [`Error::Disconnected`] after it has
    /// closed the connection.
    fn send(&mut self, frame: &[u8]) -> Result<(), Error>;

    /// Replaces the content of `buffer` by the next frame. Returns false if there is none.
    ///
    /// # Errors
    /// [`Error::Disconnected`] when all frames are read and the engine has closed the connection.
    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error>;

    /// Waits for a frame or for the end of the connection. Returns false if neither came in time.
    fn wait(&self, timeout: Duration) -> Result<bool, Error>;
}
