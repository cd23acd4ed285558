//! The driver for VPP, through its binary API.
//!
//! A network is a bridge domain, an attachment an interface in it: a memif of which VPP is the
//! master, a vhost-user interface or a host interface (af_packet). Ownership is stored in their
//! tags; objects without a tag of usnet are only read. VPP loses its configuration when it ends, so
//! that everything can be recreated from a record.
//!
//! A list of operations is applied in parts of one kind. Each part reads a snapshot, decides, and
//! sends all of its commands in a few batches. VPP has no transactions: what other clients change
//! in between shows in its replies, and then that operation is decided again on a new snapshot.
//!
//! Pitfalls, and where they are handled:
//! - An interface is tagged after its creation. An untagged one on a socket id of usnet is
//!   incomplete: an ADD that needs its socket completes it ([`decide`]), a DEL of its attachment
//!   deletes it.
//! - Adding an interface to a bridge domain that does not exist creates one implicitly, without a
//!   tag. Each new port is read back ([`create_ports`]); an implicit bridge domain is not reported
//!   as a bridge, and its ports count as unbridged ([`observe`]).
//! - A memif that could not be created leaves the reference count of its socket id wrong: the id is
//!   deleted before it is used again.

mod apply;
mod command;
mod create_ports;
mod decide;
mod failure;
mod legacy;
mod limits;
mod observe;
mod snapshot;
mod tags;

pub use tags::{TAG_MAX, TagTooLong, check_attachment};

use crate::engine::{Engine, EngineError, OpError};
use crate::memif::MemifSocketIds;
use crate::observed::Observed;
use crate::plan::Op;
use snapshot::VppSnapshot;
use usnet_vpp::Api;

/// VPP on this node.
#[derive(Debug)]
pub struct Vpp<A> {
    api: A,
    socket_ids: MemifSocketIds,
}

impl<A: Api + Send> Vpp<A> {
    /// The VPP of this API, in which usnet owns these memif socket ids.
    pub fn new(api: A, socket_ids: MemifSocketIds) -> Self {
        Self { api, socket_ids }
    }
}

impl<A: Api + Send> Engine for Vpp<A> {
    async fn observe(&mut self) -> Result<Observed, EngineError> {
        Ok(observe::observe(&VppSnapshot::read(&mut self.api).await?, self.socket_ids))
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut results = Vec::with_capacity(operations.len());
        for part in apply::parts(operations) {
            results.extend(self.apply_part(part, operations.len() == 1).await?);
        }
        Ok(results)
    }
}
