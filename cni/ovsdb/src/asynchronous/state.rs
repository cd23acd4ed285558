//! The state that a session publishes.

use crate::{Cache, Error};
use std::sync::Arc;

/// The state of a session. Without a connection there is no copy at all: a stale one could be
/// mistaken for the current state.
pub type State = usnet_transport::asynchronous::State<Snapshot, Arc<Error>>;

/// A copy of the watched tables at one time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The number of the connection, from 1: if it has changed, all rows were read again.
    pub epoch: u64,
    pub cache: Arc<Cache>,
}
