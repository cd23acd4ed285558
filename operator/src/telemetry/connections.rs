//! The open connections of one listener, and which of them are closed for another one. A client
//! that opens connections and sends nothing may delay no other client: the newest connection is
//! always served, and the oldest of the same peer makes room for it, or, where there are too many
//! of all peers, the oldest of the peer that has most: one with few connections keeps them,
//! however many others there are that have more.

use std::collections::{BTreeMap, VecDeque};
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
        let crowding = match (of_peer >= OF_ONE_PEER, self.0.len() >= OF_ALL) {
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

    /// The peer with most connections; of several, one that has the oldest.
    fn largest(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.0.iter().for_each(|(peer, _)| *counts.entry(*peer).or_default() += 1);
        let most = counts.values().max()?;
        self.0.iter().map(|(peer, _)| *peer).find(|peer| counts.get(peer) == Some(most))
    }
}
