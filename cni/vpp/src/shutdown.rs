//! Orderly shutdown of a working connection.
//!
//! VPP (observed with 26.06) handles the end of file of a client's socket only if `errno` is not
//! EAGAIN, and does not reset it before. If it still is EAGAIN from an earlier reply that did not
//! fit into the socket, as after a dump of some hundred interfaces, VPP reads the end of file in a
//! busy loop indefinitely and does nothing else. If a client requests its deletion
//! (`sockclnt_delete`), VPP closes the socket itself.

use crate::endpoint::Endpoint;
use std::os::fd::AsFd;
use std::time::Duration;
use usnet_transport::Protocol;
use usnet_transport::blocking::{Deadline, transfer};

/// The longest wait for VPP, which takes less than a millisecond. If VPP hangs, the socket is
/// closed without its reply: longer would delay the end of the plugin and of the agent.
const LIMIT: Duration = Duration::from_millis(200);
/// Received bytes are ignored, so that a small buffer on the stack suffices.
const READ_SIZE: usize = 4096;

/// Requests VPP to close the connection and waits until it has.
///
/// This blocks for at most [`LIMIT`], and is for `Drop`: an ended runtime or an aborted task cannot
/// await anything.
pub(crate) fn close(endpoint: &mut Endpoint, socket: &impl AsFd) {
    if endpoint.close() {
        let deadline = Deadline::after(LIMIT);
        let mut buffer = [0; READ_SIZE];
        // The loop ends when VPP has closed the socket. Errors end it as well: this was the last
        // request.
        while matches!(transfer(socket.as_fd(), &mut Closing(endpoint), &mut buffer, &deadline), Ok(false)) {}
    }
}

/// Sends queued bytes and ignores received ones.
struct Closing<'endpoint>(&'endpoint mut Endpoint);

impl Protocol for Closing<'_> {
    fn outgoing(&self) -> &[u8] {
        self.0.outgoing()
    }

    fn sent(&mut self, bytes: usize) {
        self.0.sent(bytes);
    }

    fn receive(&mut self, _bytes: &[u8]) {}
}
