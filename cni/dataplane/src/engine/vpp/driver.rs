//! The driver for VPP on a session of its binary API.

use super::snapshot::VppSnapshot;
use super::{apply, observe};
use crate::engine::driver::Engine;
use crate::engine::error::{EngineError, OpError};
use crate::model::memif::MemifSocketIds;
use crate::model::observed::Observed;
use crate::plan::Op;
use usnet_vpp::Api;

/// VPP on this node.
#[derive(Debug)]
pub struct Vpp<A> {
    pub(super) api: A,
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
        apply::apply(&mut self.api, self.socket_ids, operations).await
    }
}
