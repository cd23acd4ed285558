//! The state of an agent, and the status that it reports. Pure. Only what a report needs is kept of
//! each network, because each of many agents has all networks.

use super::protocol::Attachment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::Selector;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use usnet_crds::conditions::message::node::AGENT_READY;
use usnet_crds::conditions::{NETWORKS_PROGRAMMED, OVS_CONNECTED, READY, VPP_CONNECTED, reason};
use usnet_crds::node_selection::{resource_version, selects};
use usnet_crds::node_state::{
    EngineReport, NetworkReport, NetworkState, NodeSummary, PODS_MAX, REPORTS_MAX, UserspaceNodeStateStatus,
};
use usnet_crds::{CompiledNetwork, EngineKind, UserspaceNodeState};

/// The names of networks, which all agents share.
static NAMES: Mutex<Option<HashSet<Arc<str>>>> = Mutex::new(None);

/// One compiled network.
#[derive(Debug, PartialEq)]
struct Network {
    version: u64,
    generation: i64,
    engine: EngineKind,
    selector: Option<Box<Selector>>,
}

/// The state of one agent.
#[derive(Debug, Default)]
pub(super) struct AgentState {
    /// The generation of the node state; `None` before it exists.
    generation: Option<i64>,
    labels: BTreeMap<String, String>,
    networks: HashMap<Arc<str>, Network>,
    /// The networks of a list that is not complete.
    listed: Option<HashMap<Arc<str>, Network>>,
    has_listed: bool,
    /// The highest resourceVersion of a compiled network that was seen.
    version: u64,
    pods: BTreeMap<Arc<str>, Vec<String>>,
}

impl AgentState {
    /// Updates the node state, and returns whether there is something to report.
    pub(super) fn set_state(&mut self, state: UserspaceNodeState) -> bool {
        let is_new = self.generation != state.metadata.generation;
        self.generation = state.metadata.generation;
        self.labels = state.spec.labels;
        is_new
    }

    /// Starts a list of compiled networks.
    pub(super) fn begin_list(&mut self) {
        self.listed = Some(HashMap::new());
    }

    /// Adds a network to the list.
    pub(super) fn list(&mut self, network: CompiledNetwork) {
        if let Some((name, network)) = self.kept(network) {
            self.listed.get_or_insert_default().insert(name, network);
        }
    }

    /// Completes the list, and returns whether there is something to report.
    pub(super) fn end_list(&mut self) -> bool {
        let listed = self.listed.take().unwrap_or_default();
        let is_new = !self.has_listed || listed != self.networks;
        self.networks = listed;
        self.has_listed = true;
        is_new
    }

    /// Updates a network, and returns whether that concerns the node.
    pub(super) fn set_network(&mut self, network: CompiledNetwork) -> bool {
        let Some((name, network)) = self.kept(network) else { return false };
        let is_selected = self.is_selected(&network);
        let was_selected = self.networks.insert(name, network).is_some_and(|old| self.is_selected(&old));
        is_selected || was_selected
    }

    /// Removes a network, and returns whether that concerns the node.
    pub(super) fn remove_network(&mut self, name: &str) -> bool {
        self.networks.remove(name).is_some_and(|network| self.is_selected(&network))
    }

    /// Adds the attachment of a pod.
    pub(super) fn attach(&mut self, attachment: Attachment) {
        self.pods.entry(interned(&attachment.network)).or_default().push(attachment.pod);
    }

    fn kept(&mut self, network: CompiledNetwork) -> Option<(Arc<str>, Network)> {
        let version = resource_version(network.metadata.resource_version.as_deref());
        self.version = self.version.max(version);
        let name = interned(&network.name_any());
        let spec = network.spec;
        let selector = spec.node_selector.map(Selector::try_from).transpose().ok()?.map(Box::new);
        Some((name, Network { version, generation: spec.generation, engine: spec.engine, selector }))
    }

    /// Whether the node, which has Open vSwitch and no VPP, selects the network.
    fn is_selected(&self, network: &Network) -> bool {
        let missing = BTreeSet::from([EngineKind::Vpp]);
        selects(network.selector.as_deref(), network.engine, None, &self.labels, &missing)
    }

    /// Returns the status to report; `None` before everything is listed.
    pub(super) fn status(&self, since: Timestamp) -> Option<UserspaceNodeStateStatus> {
        let generation = self.generation.filter(|_| self.has_listed)?;
        let selected = self.networks.values().filter(|network| self.is_selected(network)).count();
        Some(status(&Facts { generation, version: self.version, selected, reports: self.reports(), since }))
    }

    fn reports(&self) -> Vec<NetworkReport> {
        let with_pods = self.pods.iter().filter_map(|(name, pods)| {
            let network = self.networks.get(name)?;
            let attachments = i64::try_from(pods.len()).unwrap_or(i64::MAX);
            Some(NetworkReport {
                name: name.to_string(),
                generation: network.generation,
                state: NetworkState::Programmed,
                reason: String::new(),
                message: String::new(),
                attachments,
                connected: attachments,
                pods: pods.iter().take(PODS_MAX).cloned().collect(),
                degraded: Vec::new(),
            })
        });
        with_pods.take(REPORTS_MAX).collect()
    }
}

/// The input of a status.
pub(super) struct Facts {
    pub(super) generation: i64,
    pub(super) version: u64,
    pub(super) selected: usize,
    pub(super) reports: Vec<NetworkReport>,
    pub(super) since: Timestamp,
}

/// Returns the status of a node on which everything is programmed.
pub(super) fn status(facts: &Facts) -> UserspaceNodeStateStatus {
    let Facts { generation, version, selected, reports, since } = facts;
    let condition = |type_: &str, status: &str, reason: &str, message: String| Condition {
        last_transition_time: Time(*since),
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: Some(*generation),
    };
    let attachments = reports.iter().map(|report| report.attachments).sum();
    let message = format!("{selected} of {selected} networks are programmed");
    UserspaceNodeStateStatus {
        attachments: Vec::new(),
        observed_generation: Some(*generation),
        programmed_through: Some(version.to_string()),
        conditions: vec![
            condition(READY, "True", reason::AGENT_READY, AGENT_READY.to_owned()),
            condition(NETWORKS_PROGRAMMED, "True", reason::ALL_PROGRAMMED, message),
            condition(OVS_CONNECTED, "True", reason::CONNECTED, "connected to Open vSwitch 3.5.0".to_owned()),
            condition(VPP_CONNECTED, "False", reason::NEVER_SEEN, "there is no /run/vpp/api.sock".to_owned()),
        ],
        networks: reports.clone(),
        uplinks: Vec::new(),
        engines: vec![EngineReport { engine: EngineKind::OpenVswitch, version: "3.5.0".to_owned(), epoch: 1 }],
        engine_ends: Vec::new(),
        affected_pods: Vec::new(),
        policy_pods: Vec::new(),
        summary: NodeSummary {
            engines: "OVS 3.5.0".to_owned(),
            networks: format!("{selected}/{selected}"),
            attachments,
            problem: String::new(),
        },
    }
}

fn interned(name: &str) -> Arc<str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let name: Arc<str> = name.into();
    names.insert(Arc::clone(&name));
    name
}
