//! The driver for VPP on a session of its binary API.

use super::plan_op::only_domains;
use super::ports::NewInterface;
use super::snapshot::VppSnapshot;
use super::{apply, observe};
use crate::engine::blocking::NeverWaits;
use crate::engine::committed::Committed;
use crate::engine::driver::EngineDriver;
use crate::engine::error::{EngineError, OpError};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use crate::model::memif::MemifSocketIds;
use crate::model::observed::Observed;
use crate::plan::Op;
use usnet_crds::EngineKind;
use usnet_vpp::Api;
use usnet_vpp::blocking::Client;

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

impl NeverWaits for Client {}
impl<A: NeverWaits> NeverWaits for Vpp<A> {}

impl<A: Api + Send> EngineDriver for Vpp<A> {
    const ENGINE: EngineKind = EngineKind::Vpp;

    async fn observe(&mut self) -> Result<Observed, EngineError> {
        let observed = observe::observe(&VppSnapshot::read(&mut self.api).await?, self.socket_ids);
        let unguardable = apply::unguardable(&self.api).map(|reason| format!("{}: {reason}", Self::ENGINE));
        Ok(Observed { unusable_port_types: NewInterface::unusable_types(&self.api), unguardable, ..observed })
    }

    async fn observe_changed(&mut self, before: Observed, operations: &[Op]) -> Result<Observed, EngineError> {
        let snapshot = match only_domains(operations) {
            Some(ids) => VppSnapshot::read_domains(&mut self.api, &ids).await?.map(|snapshot| (ids, snapshot)),
            None => None,
        };
        match snapshot.and_then(|(ids, snapshot)| observe::update_bridges(before, &ids, &snapshot)) {
            Some(observed) => Ok(observed),
            None => self.observe().await,
        }
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        Ok(self.commit(operations).await?.results)
    }

    /// VPP replies when it has acted.
    async fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        apply::apply(&mut self.api, self.socket_ids, operations).await
    }

    async fn complete(&mut self, _: &[Op], committed: Committed) -> Result<Vec<Result<(), OpError>>, EngineError> {
        Ok(committed.results)
    }

    async fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError> {
        apply::remove_legacy_port(&mut self.api, port).await
    }
}
