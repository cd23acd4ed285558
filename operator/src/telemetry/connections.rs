//! The open connections of one listener, and which of them are closed for another one. A client
//! that opens connections and sends nothing may delay no other client: the newest connection is
//! always served, and the oldest of the same peer makes room for it.

use std::collections::VecDeque;
use std::net::IpAddr;
use tokio::task::AbortHandle;

/// Connections of one peer: a scraper or a kubelet has one or two at a time. Programs behind one
/// address translation are one peer.
const OF_ONE_PEER: usize = 16;
/// Connections of all peers together, each of which may take some KB.
const OF_ALL: usize = 128;

/// The open connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Connections(VecDeque<(IpAddr, AbortHandle)>);

impl Connections {
    /// Adds a connection, and closes an older one where there would be too many.
    pub(super) fn add(&mut self, peer: IpAddr, connection: AbortHandle) {
        self.0.retain(|(_, open)| !open.is_finished());
        let of_peer = self.0.iter().filter(|(other, _)| *other == peer).count();
        let oldest = if of_peer >= OF_ONE_PEER {
            self.0.iter().position(|(other, _)| *other == peer)
        } else {
            (self.0.len() >= OF_ALL).then_some(0)
        };
        if let Some((_, oldest)) = oldest.and_then(|position| self.0.remove(position)) {
            oldest.abort();
        }
        self.0.push_back((peer, connection));
    }
}
