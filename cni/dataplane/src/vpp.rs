//! The driver for VPP, through its binary API.
//!
//! A network is a bridge domain, an attachment an interface in it: a memif that VPP serves, or a vhost-user interface. Both carry our marks in their
//! tags; what has none is only looked at. VPP forgets everything when it ends, so everything here can be done again from a record.
//!
//! A list of operations is done in parts of one kind. Each part looks at what is there, decides, and sends all of its changes in a few batches. VPP has
//! no transactions: what somebody else changes in between shows in its answers, and then that operation is looked at anew.
//!
//! What bites, and where it is dealt with:
//! - An interface gets its mark after it was made. One without a mark on a socket id of ours is one that somebody began to make; whoever needs its
//!   socket finishes it ([`decide`]), whoever ends its attachment takes it away.
//! - Putting an interface into a bridge domain that is not there makes one, without our mark. Each new port is read back ([`create_ports`]); such a bridge
//!   domain is none to us, and its ports are on no bridge ([`observe`]).
//! - A memif that could not be made leaves its socket id counted wrong: the id goes before it is used again.

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
    /// The VPP of this API, in which these memif socket ids are ours.
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
