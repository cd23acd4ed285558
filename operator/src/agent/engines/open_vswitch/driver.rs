//! The driver for Open vSwitch, which also restores what the database does not have: an update of a
//! bridge is complete when it forwards again.

use super::forwarding::Looks;
use crate::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::engine::{Committed, EngineDriver, EngineError, OpError};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::plan::{Op, UplinkOp};
use usnet_ovsdb::asynchronous::Handle;

/// Open vSwitch of this node, with the flows of its bridges.
#[derive(Debug)]
pub(crate) struct ForwardingDriver {
    database: OpenVswitch<Handle>,
    forwarding: Looks,
}

impl ForwardingDriver {
    pub(super) fn new(database: OpenVswitch<Handle>, forwarding: Looks) -> Self {
        Self { database, forwarding }
    }
}

/// Restores the bridges of updates that the database has.
async fn restore(forwarding: &Looks, operations: &[Op], results: &mut [Result<(), OpError>]) {
    for (operation, result) in operations.iter().zip(results).filter(|(_, result)| result.is_ok()) {
        let Some(bridge) = updated_bridge(operation) else { continue };
        if let Err(error) = forwarding.restore(bridge).await {
            let what = format!("bridge {bridge}");
            *result = Err(OpError::Refused { what, reason: ErrorChain(&error).to_string() });
        }
    }
}

fn updated_bridge(operation: &Op) -> Option<&str> {
    match operation {
        Op::UpdateBridge { bridge, .. } => Some(bridge.name.as_str()),
        Op::Uplink(UplinkOp::RestoreBridge { bridge, .. }) => Some(bridge.as_str()),
        _ => None,
    }
}

impl EngineDriver for ForwardingDriver {
    const ENGINE: EngineKind = EngineKind::OpenVswitch;

    async fn observe(&mut self) -> Result<Observed, EngineError> {
        let mut observed = self.database.observe().await?;
        self.forwarding.add_to(&mut observed);
        Ok(observed)
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut results = self.database.apply(operations).await?;
        restore(&self.forwarding, operations, &mut results).await;
        Ok(results)
    }

    async fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        self.database.commit(operations).await
    }

    async fn complete(
        &mut self,
        operations: &[Op],
        committed: Committed,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut results = self.database.complete(operations, committed).await?;
        restore(&self.forwarding, operations, &mut results).await;
        Ok(results)
    }

    async fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError> {
        self.database.remove_legacy_port(port).await
    }
}
