//! The open connections of one listener, and which of them are closed for another one. A client
//! that opens connections and sends nothing may delay no other client: the newest connection is
//! always served, and the oldest of the same peer makes room for it, or, where there are too many
//! of all peers, the oldest of the peer that has most: one with few connections keeps them,
//! however many others there are that have more.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use tokio::task::AbortHandle;

/// The maximum number of connections of one peer: a scraper or a kubelet has one or two at a time.
/// Programs behind one address translation are one peer.
const CONNECTIONS_OF_PEER_MAX: usize = 16;
/// The maximum number of connections of all peers, each of which may take some KB.
const CONNECTIONS_MAX: usize = 128;

/// The open connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Connections(VecDeque<(IpAddr, AbortHandle)>);

impl Connections {
    /// Adds a connection, and closes an older one where there would be too many.
    pub(super) fn add(&mut self, peer: IpAddr, connection: AbortHandle) {
        self.0.retain(|(_, open)| !open.is_finished());
        let of_peer = self.0.iter().filter(|(other, _)| *other == peer).count();
        let crowding = match (of_peer >= CONNECTIONS_OF_PEER_MAX, self.0.len() >= CONNECTIONS_MAX) {
            (true, _) => Some(peer),
            (false, true) => self.largest(),
            (false, false) => None,
        };
        let oldest = crowding.and_then(|peer| self.0.iter().position(|(other, _)| *other == peer));
        if let Some((_, oldest)) = oldest.and_then(|position| self.0.remove(position)) {
            oldest.abort();
        }
        self.0.push_back((peer, connection));
    }

    /// The peer with most connections; of several such peers, the one with the oldest connection.
    fn largest(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.0.iter().for_each(|(peer, _)| *counts.entry(*peer).or_default() += 1);
        let most = counts.values().max()?;
        self.0.iter().map(|(peer, _)| *peer).find(|peer| counts.get(peer) == Some(most))
    }
}
