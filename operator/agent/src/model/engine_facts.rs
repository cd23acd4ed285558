//! The state of one engine of the node, in the terms of the `UserspaceNodeState`.

use super::spec::NodeSpec;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::ConditionUpdate;
use usnet_crds::node_state::{AffectedPod, EngineEnd, EngineReport, NetworkReport, PolicyPod};
use usnet_crds::uplink::report::UplinkReport;

/// The state of one engine of the node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EngineFacts {
    /// The spec that these facts are about; none before the first.
    pub spec: Option<Arc<NodeSpec>>,
    /// One entry for each network of the engine.
    pub networks: Vec<Arc<NetworkReport>>,
    /// One entry for each uplink of the engine.
    pub uplinks: Vec<UplinkReport>,
    /// The numbers of attachments with a problem of their own, by its reason.
    pub degraded: BTreeMap<&'static str, i64>,
    /// Pods that get an event, because the engine is down or their network is being removed.
    pub affected_pods: Vec<AffectedPod>,
    /// The attached pods of networks with policies, with their addresses.
    pub policy_pods: Vec<PolicyPod>,
    /// The version and epoch of the engine; none while it is down.
    pub engine: Option<EngineReport>,
    /// The last end of its process; none if it did not end since the agent was started.
    pub last_end: Option<EngineEnd>,
    /// The condition of the engine: whether the agent is connected to it.
    pub connected: ConditionUpdate,
}
