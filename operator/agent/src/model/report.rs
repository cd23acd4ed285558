//! The actual state of the node, independent of the API server. Status writer, state file and
//! selection consume it.

use super::spec::NodeSpec;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use usnet_common::display::OneLine;
use usnet_crds::NetworkName;
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_crds::conditions::{ConditionUpdate, NETWORKS_PROGRAMMED, Status};
use usnet_crds::node_state::{AffectedPod, EngineEnd, EngineReport, NetworkReport, PolicyPod};
use usnet_crds::uplink::report::UplinkReport;

/// The actual state of the node.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The spec that this report is about, the oldest of those that the engines have worked on;
    /// none before the first.
    pub spec: Option<Arc<NodeSpec>>,
    /// One entry for each network that is applied or desired on the node, sorted by name.
    pub networks: Vec<Arc<NetworkReport>>,
    /// One entry for each uplink, sorted by name.
    pub uplinks: Vec<UplinkReport>,
    /// The engines that the agent is connected to.
    pub engines: Vec<EngineReport>,
    /// The last end of each engine that ended since the agent was started.
    pub engine_ends: Vec<EngineEnd>,
    /// Pods that get an event, because their engine is down or their network is being removed.
    pub affected_pods: Vec<AffectedPod>,
    /// The attached pods of networks with policies, with their addresses, sorted.
    pub policy_pods: Vec<PolicyPod>,
    /// The conditions, without their transition times, which only a stored status has.
    pub findings: Vec<ConditionUpdate>,
}

impl Report {
    /// The revision of the spec that this report is about.
    pub fn revision(&self) -> Option<u64> {
        self.spec.as_ref().map(|spec| spec.revision)
    }

    /// The generation of the node state that this report is about.
    pub fn observed_generation(&self) -> Option<i64> {
        self.spec.as_ref().map(|spec| spec.generation)
    }

    /// The resourceVersion up to which all compiled networks were considered.
    pub fn through(&self) -> Option<u64> {
        self.spec.as_ref().map(|spec| spec.through)
    }

    /// Texts for users about the conditions that are not True. An engine that the node never had is
    /// no problem.
    pub fn problems(&self) -> Vec<String> {
        let is_problem = |finding: &&ConditionUpdate| finding.status != Status::True && finding.reason != NEVER_SEEN;
        let text = |finding: &ConditionUpdate| {
            let ConditionUpdate { kind, status, reason, message } = finding;
            OneLine(format!("{kind} is {status} ({reason}): {message}")).to_string()
        };
        self.findings.iter().filter(is_problem).map(text).collect()
    }

    /// A hash of what users wait for: everything but the networks without pods that come from NADs
    /// of the Userspace CNI (Intel). These are recognised by their names; a user's network that
    /// happens to be named in the same way is only reported a second later. Valid within this
    /// process.
    pub fn awaited(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let spec = self.spec.as_deref();
        let spec_networks = spec.into_iter().flat_map(|spec| &spec.networks);
        let deferrable: BTreeSet<&str> = spec_networks
            .filter(|network| network.name == NetworkName::for_bridge(network.engine, &network.bridge.name))
            .map(|network| network.name.as_str())
            .collect();
        let is_awaited = |name: &str| !deferrable.contains(name);
        spec.map(|spec| spec.generation).hash(&mut hasher);
        let versions = spec.into_iter().flat_map(|spec| &spec.versions);
        versions.filter(|(name, _)| is_awaited(name.as_str())).for_each(|version| version.hash(&mut hasher));
        let networks = self.networks.iter().filter(|report| report.attachments > 0 || is_awaited(&report.name));
        networks.for_each(|report| report.hash(&mut hasher));
        self.uplinks.hash(&mut hasher);
        self.engines.hash(&mut hasher);
        self.engine_ends.hash(&mut hasher);
        // The message of this condition counts all networks, deferrable ones included.
        let findings = self.findings.iter().filter(|finding| finding.kind != NETWORKS_PROGRAMMED);
        findings.for_each(|finding| finding.hash(&mut hasher));
        hasher.finish()
    }

    /// A hash of the pods of networks with policies, whose ports may be closed until the controller
    /// of policies knows them. Valid within this process.
    pub fn policy_pods(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.policy_pods.hash(&mut hasher);
        hasher.finish()
    }

    /// A hash of which pods the networks have, and how many of their programs are connected. Valid
    /// within this process.
    pub fn pods(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for report in self.networks.iter().filter(|report| report.attachments > 0) {
            (&report.name, report.attachments, report.connected, &report.pods).hash(&mut hasher);
        }
        hasher.finish()
    }
}
