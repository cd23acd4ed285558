//! Why an operation is planned: derived from the desired state and from what earlier reconciles
//! left behind, so that history, log and metrics need not guess afterwards.

use super::operation::Op;
use crate::model::attachment::AttachmentId;
use crate::model::desired::Desired;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use usnet_crds::{NetworkName, UplinkName};

/// Why an operation is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The node has a new spec.
    NewSpec,
    /// The agent, and perhaps the node, was restarted, and this is missing of the spec that it
    /// already had.
    AgentStarted,
    /// The network was programmed, and the engine was changed by others since.
    Drift,
    /// The engine was restarted and lost it.
    EngineRestarted {
        /// The number of restarts of the engine so far.
        epoch: u64,
    },
    /// The pod was attached since the last reconcile: its port was not complete yet when the engine
    /// was observed, or the plugin left it to the agent.
    Attached,
    /// The pod is detached and its port is left.
    Detached,
    /// The operation failed before, or could not be done until now.
    Retry,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewSpec => formatter.write_str("new spec"),
            Self::AgentStarted => formatter.write_str("agent started"),
            Self::Drift => formatter.write_str("drift"),
            Self::EngineRestarted { epoch } => write!(formatter, "engine restarted, epoch {epoch}"),
            Self::Attached => formatter.write_str("pod attached"),
            Self::Detached => formatter.write_str("pod detached"),
            Self::Retry => formatter.write_str("retry"),
        }
    }
}

/// Where the spec of a node comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpecOrigin {
    /// The spec was not reconciled before.
    #[default]
    New,
    /// The agent was started with the spec that an earlier one had.
    Inherited,
    /// The spec is that of the last reconcile.
    Known,
}

/// What earlier reconciles left behind.
#[derive(Debug, Clone, Default)]
pub struct PlanContext {
    /// Where the spec comes from.
    pub spec: SpecOrigin,
    /// The networks that were programmed at the end of the last reconcile.
    pub programmed: BTreeSet<NetworkName>,
    pub programmed_uplinks: BTreeSet<UplinkName>,
    /// The attachments that had their port then. A port that was never there cannot drift: ADD may
    /// still have been creating it when the engine was observed.
    pub attached: BTreeSet<AttachmentId>,
    /// The engine's restarts so far, if it was restarted and is not programmed again yet.
    pub restarted: Option<u64>,
    /// Operations that failed and are not resolved, by their text: the creation of a bridge or port
    /// is the same operation with other settings.
    pub unresolved: BTreeMap<String, Op>,
}

impl PlanContext {
    /// The cause of an operation. What failed before is a retry whatever else happened; a detached
    /// pod explains a removal better than a restart does.
    pub fn cause_of(&self, operation: &Op, desired: &Desired) -> Cause {
        if self.unresolved.contains_key(&operation.to_string()) {
            return Cause::Retry;
        }
        let is_of_pod = operation.attachment().is_some();
        if matches!(operation, Op::RemovePort { .. }) && is_of_pod && !is_attached(operation, desired) {
            return Cause::Detached;
        }
        let is_known = self.spec == SpecOrigin::Known;
        if is_known && self.has_unresolved_port_of(operation) {
            return Cause::Retry;
        }
        match (self.restarted, self.spec) {
            (Some(epoch), _) => Cause::EngineRestarted { epoch },
            (None, SpecOrigin::New) => Cause::NewSpec,
            (None, SpecOrigin::Inherited) => Cause::AgentStarted,
            (None, SpecOrigin::Known) if operation.attachment().is_some_and(|id| !self.attached.contains(id)) => {
                Cause::Attached
            }
            (None, SpecOrigin::Known) => {
                let network = operation.network().is_some_and(|network| self.programmed.contains(network));
                let uplink = operation.uplink().is_some_and(|uplink| self.programmed_uplinks.contains(uplink));
                if network || uplink { Cause::Drift } else { Cause::Retry }
            }
        }
    }

    /// The cause of a change for a network that is none of its engine.
    pub fn cause_for(&self, network: &NetworkName) -> Cause {
        match self.spec {
            SpecOrigin::New => Cause::NewSpec,
            SpecOrigin::Inherited => Cause::AgentStarted,
            SpecOrigin::Known if self.programmed.contains(network) => Cause::Drift,
            SpecOrigin::Known => Cause::Retry,
        }
    }

    fn has_unresolved_port_of(&self, operation: &Op) -> bool {
        let attachment = operation.attachment();
        attachment.is_some() && self.unresolved.values().any(|unresolved| unresolved.attachment() == attachment)
    }
}

fn is_attached(operation: &Op, desired: &Desired) -> bool {
    operation.attachment().is_some_and(|id| desired.attachment(id).is_some())
}
