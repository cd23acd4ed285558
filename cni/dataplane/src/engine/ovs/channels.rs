//! The channels of the driver to a switch: its database, and its bridges by OpenFlow.

use super::guarded::FrameSource;
use crate::engine::error::{EngineError, OpError};
use crate::model::bridge::DesiredBridge;
use crate::model::observed::Observed;
use std::future::{Future, ready};
use usnet_openflow::PortNumber;
use usnet_ovsdb::Database;

/// The channels to a switch.
///
/// Every session with the database is one, without a channel to the bridges. What is only known
/// there is neither observed nor restored then: the CNI plugin leaves that to the agent.
pub trait OvsChannels: Send {
    type Database: Database + Send;

    fn database(&mut self) -> &mut Self::Database;

    /// Adds what the bridges say of themselves to what the database says of them.
    fn add_flows_to(&self, _observed: &mut Observed) {}

    /// Makes a bridge forward as it should, if its flows make it anything else: as a switch that
    /// learns, or only what its ports are allowed to send. It is called for each bridge whose
    /// update the database has.
    fn restore_flows(&mut self, _bridge: &DesiredBridge) -> impl Future<Output = Result<(), OpError>> + Send {
        ready(Ok(()))
    }

    /// Has a bridge with policies flood nothing to a new port.
    fn stop_flooding(
        &mut self,
        _bridge: &str,
        _number: PortNumber,
    ) -> impl Future<Output = Result<(), OpError>> + Send {
        ready(Ok(()))
    }

    /// Has a guarded bridge forward what a pod's port is allowed to send, or nothing of it and to
    /// it if it has policies. It is called for each such port that was created.
    fn open_guarded(&mut self, _port: NewGuardedPort<'_>) -> impl Future<Output = Result<(), OpError>> + Send {
        ready(Ok(()))
    }
}

/// A pod's port on a guarded bridge.
#[derive(Debug, Clone, Copy)]
pub struct NewGuardedPort<'a> {
    pub bridge: &'a str,
    pub number: PortNumber,
    pub source: &'a FrameSource,
    /// Whether policies have to say what the port may have.
    pub has_policies: bool,
}

impl<D: Database + Send> OvsChannels for D {
    type Database = D;

    fn database(&mut self) -> &mut D {
        self
    }
}

/// The error of a bridge whose flows could not be restored.
pub fn flows_refused(bridge: &str, reason: String) -> OpError {
    OpError::Refused { what: format!("bridge {bridge}"), reason }
}

/// The results of operations, of which those that updated a bridge have restored its flows, too.
pub(super) async fn restore_flows(
    channels: &mut impl OvsChannels,
    updated: impl IntoIterator<Item = Option<&DesiredBridge>>,
    mut results: Vec<Result<(), OpError>>,
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    for (bridge, result) in updated.into_iter().zip(&mut results) {
        if let Some(bridge) = bridge.filter(|_| result.is_ok()) {
            *result = channels.restore_flows(bridge).await;
        }
    }
    Ok(results)
}
