//! The driver for Open vSwitch on its channels.

use super::channels::{NewGuardedPort, OvsChannels, restore_flows};
use super::guarded::{GuardedBridge, PolicyTag};
use super::snapshot::OvsSnapshot;
use super::{apply, guarded, observe, quarantine};
use crate::engine::blocking::NeverWaits;
use crate::engine::committed::Committed;
use crate::engine::driver::EngineDriver;
use crate::engine::error::{EngineError, OpError};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use crate::model::bridge::DesiredBridge;
use crate::model::observed::Observed;
use crate::model::port::DesiredPort;
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_ovsdb::Cache;
use usnet_ovsdb::blocking::Client;

/// How long the switch may take for one operation; each further one of the same list adds a little.
///
/// One port takes 140 ms on a switch with 1,000. A pod that starts must have an answer within 5 s.
pub const TIMEOUT: Duration = Duration::from_secs(4);

/// Open vSwitch on this node.
#[derive(Debug)]
pub struct OpenVswitch<C> {
    channels: C,
    timeout: Duration,
}

impl<C: OvsChannels> OpenVswitch<C> {
    /// Before ports of pods are changed: nothing is flooded to those that a program that ended left
    /// in quarantine.
    async fn prepare_updates(&mut self, operations: &[Op]) -> Result<(), EngineError> {
        for operation in operations {
            if let Op::UpdatePort { port } = operation
                && port.settings.guard.is_some()
            {
                // The update would end the quarantine although the bridge floods to the port.
                let stopped = quarantine::stop_flooding(&mut self.channels, port).await?;
                let seconds = self.timeout.as_secs();
                stopped.map_err(|_| EngineError::NotActing { engine: EngineKind::OpenVswitch, seconds })?;
            }
        }
        Ok(())
    }

    /// The results of operations, of which those that created or changed a port with a guard have
    /// opened it.
    async fn open_guarded(
        &mut self,
        operations: &[Op],
        mut results: Vec<Result<(), OpError>>,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        for (operation, result) in operations.iter().zip(&mut results) {
            let (Op::CreatePort { port } | Op::UpdatePort { port }) = operation else { continue };
            if port.settings.guard.is_none() || result.is_err() {
                continue;
            }
            *result = self.open_port(port).await?;
        }
        Ok(results)
    }

    /// Opens a port, unless policies have to say what it may have: then it stays closed.
    async fn open_port(&mut self, port: &DesiredPort) -> Result<Result<(), OpError>, EngineError> {
        let name = port.name.as_str();
        // Its number is in the database by now.
        let snapshot = OvsSnapshot::read_port(self.channels.database(), name).await?;
        let found = snapshot.as_ref().and_then(|snapshot| guarded::port_named(snapshot, name));
        let Some((bridge, number, source)) = found else { return Ok(Ok(())) };
        let has_policies = guarded::policy_tag(bridge) != PolicyTag::None;
        let new = NewGuardedPort { bridge: &bridge.name, number, source: &source, has_policies };
        let opened = self.channels.open_guarded(new).await;
        if opened.is_err() {
            return Ok(opened);
        }
        if has_policies {
            // Nothing is flooded to a closed port.
            let is_waiting = snapshot.as_ref().is_some_and(|snapshot| quarantine::is_waiting(snapshot, port));
            if is_waiting {
                quarantine::set_vlan(self.channels.database(), port).await?;
            }
            return Ok(opened);
        }
        let names = [bridge.name.as_str()].into();
        if quarantine::with_policies(self.channels.database(), &names).await?.is_empty() {
            return Ok(opened);
        }
        // It got policies meanwhile: what was opened too early is closed again.
        Ok(self.channels.open_guarded(NewGuardedPort { has_policies: true, ..new }).await)
    }

    /// The results of operations, of which those that created a port of a pod on a bridge with
    /// policies have ended its quarantine.
    async fn end_quarantine(
        &mut self,
        operations: &[Op],
        mut results: Vec<Result<(), OpError>>,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        for (operation, result) in operations.iter().zip(&mut results) {
            let Op::CreatePort { port } = operation else { continue };
            if port.settings.guard.is_some() && result.is_ok() {
                *result = quarantine::end(&mut self.channels, port).await?;
            }
        }
        Ok(results)
    }

    /// The switch of these channels, or of a session with its database. It gets [`TIMEOUT`] to act.
    pub fn new(channels: C) -> Self {
        Self { channels, timeout: TIMEOUT }
    }
}

impl NeverWaits for Client {}
impl<C: NeverWaits> NeverWaits for OpenVswitch<C> {}

fn updated_bridge(operation: &Op) -> Option<&DesiredBridge> {
    match operation {
        Op::UpdateBridge { bridge } => Some(bridge),
        _ => None,
    }
}

impl<C: OvsChannels> EngineDriver for OpenVswitch<C> {
    const ENGINE: EngineKind = EngineKind::OpenVswitch;

    async fn observe(&mut self) -> Result<Observed, EngineError> {
        let mut observed = observe::observe(&OvsSnapshot::read(self.channels.database()).await?);
        self.channels.add_flows_to(&mut observed);
        Ok(observed)
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        self.prepare_updates(operations).await?;
        let results = apply::apply(self.channels.database(), self.timeout, operations).await?;
        let results = restore_flows(&mut self.channels, operations.iter().map(updated_bridge), results).await?;
        self.end_quarantine(operations, results).await
    }

    async fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        self.prepare_updates(operations).await?;
        apply::commit(self.channels.database(), self.timeout, operations).await
    }

    async fn complete(
        &mut self,
        operations: &[Op],
        committed: Committed,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let results = apply::complete(self.channels.database(), self.timeout, operations, committed).await?;
        let results = restore_flows(&mut self.channels, operations.iter().map(updated_bridge), results).await?;
        self.open_guarded(operations, results).await
    }

    fn set_apply_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    async fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError> {
        apply::remove_legacy_port(self.channels.database(), port).await
    }
}

/// The observed state, as by [`EngineDriver::observe`], from the rows of a session.
///
/// # Errors
/// The session has not read the database yet, or a row has an unexpected type.
pub fn observed_from(cache: &Cache) -> Result<Observed, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| observe::observe(&snapshot))
}

/// Reads from the cache of a session which bridges forward nothing but what their ports are allowed
/// to send, with these ports.
///
/// # Errors
/// As [`observed_from`].
pub fn guarded_from(cache: &Cache) -> Result<BTreeMap<String, GuardedBridge>, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| guarded::guarded_bridges(&snapshot))
}

/// Reads from the cache of a session the vhost-user ports of usnet that run without an MTU, by
/// their bridges: those for which DPDK has no memory are among them, and not in the datapath.
///
/// # Errors
/// As [`observed_from`].
pub fn ports_without_mtu(cache: &Cache) -> Result<BTreeMap<String, BTreeSet<String>>, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| observe::without_mtu(&snapshot))
}
