//! The connections whose request has not arrived yet. A client that opens connections and sends
//! nothing may delay no other one: the newest is always read, and the oldest makes room for it.

use std::collections::VecDeque;
use tokio::sync::oneshot;

/// How many requests are read at once. All clients are root of one node, and no peer's credential
/// tells them apart; the agent writes its request at once.
pub(super) const MAX: usize = 64;

/// The connections that are read, oldest first.
#[derive(Debug, Default)]
pub(super) struct Reading(VecDeque<oneshot::Sender<()>>);

/// Ends when the connection has to make room; dropped once its request is there.
pub(super) type Evicted = oneshot::Receiver<()>;

impl Reading {
    /// Adds a connection, and has the oldest end where there would be too many.
    pub(super) fn add(&mut self) -> Evicted {
        self.0.retain(|open| !open.is_closed());
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        let (kept, evicted) = oneshot::channel();
        self.0.push_back(kept);
        evicted
    }
}
