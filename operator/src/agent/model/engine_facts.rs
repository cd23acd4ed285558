//! The state of one engine of the node, in the terms of the `UserspaceNodeState`.

use super::spec::NodeSpec;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::ConditionUpdate;
use usnet_crds::node_state::{AffectedPod, EngineEnd, EngineReport, NetworkReport};
use usnet_crds::uplink::report::UplinkReport;

/// The state of one engine of the node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EngineFacts {
    /// The spec that this is about; none before the first.
    pub spec: Option<Arc<NodeSpec>>,
    /// One entry for each of its networks.
    pub networks: Vec<Arc<NetworkReport>>,
    /// One entry for each of its uplinks.
    pub uplinks: Vec<UplinkReport>,
    /// How many attachments have a problem of their own, by its reason.
    pub degraded: BTreeMap<&'static str, i64>,
    /// Pods that are to hear that the engine is down, or that their network is being removed.
    pub affected_pods: Vec<AffectedPod>,
    /// Version and epoch of the engine; none while it is down.
    pub engine: Option<EngineReport>,
    /// Its last end; none if it did not end since the agent was started.
    pub last_end: Option<EngineEnd>,
    /// The condition of the engine: whether the agent is connected to it.
    pub connected: ConditionUpdate,
}
