//! Agents: what a node carries follows from the selection code of the agent, and its reports from
//! what happens in this model.

use super::super::super::cache::NodeStatus;
use super::Cluster;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_agent::model::input::{Compiled, Input, NodeAddresses};
use usnet_agent::model::spec::NodeSpec;
use usnet_agent::selection::per_node::PerNodeNetworks;
use usnet_agent::selection::{Facts, select};
use usnet_crds::conditions::reason::BOND_DEGRADED;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::uplink::nic::ValidNic;
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, NetworkName, NodeUplink, Phase, UplinkName, ValidUplink, VlanRanges};

/// One agent.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Agent {
    pub(in super::super) spec: NodeSpec,
}

impl Cluster {
    /// Every agent reads what the API server has and reports.
    pub(in super::super) fn report(&mut self) {
        let nodes: Vec<String> = self.cache.states.keys().cloned().collect();
        for node in nodes.into_iter().filter(|node| !self.without_agent.contains(node)) {
            let mut agent = self.agents.remove(&node).unwrap_or_default();
            // Networks are drained first: the first selection withdraws them from pods, the second
            // removes them.
            for _ in 0..2 {
                agent.spec = self.select(&node, &agent.spec);
            }
            let status = self.status_of(&node, &agent.spec);
            self.agents.insert(node.clone(), agent);
            self.cache.states.get_mut(&node).unwrap().status = Some(status);
        }
        self.agents.retain(|node, _| self.cache.nodes.contains_key(node));
    }

    fn select(&self, node: &str, held: &NodeSpec) -> NodeSpec {
        let state = &self.cache.states[node];
        let networks = self.compiled.iter().map(|(name, spec)| {
            let name: NetworkName = name.parse().unwrap();
            let found = &self.cache.compiled[name.as_str()];
            (name.clone(), Arc::new(Compiled::new(name, found.version, found.uid.clone(), spec).unwrap()))
        });
        let input = Input {
            generation: state.generation,
            labels: state.labels.clone(),
            number: state.number.unwrap_or_default(),
            nodes: Some(Arc::new(self.node_addresses(node))),
            uplinks: Some(self.valid_uplinks(&held.uplinks)),
            is_alone: false,
            networks: networks.collect(),
            unreadable: BTreeMap::new(),
            version: self.version,
        };
        let missing = self.missing(node);
        let is_used = |name: &NetworkName| self.attached(node, name.as_str()) > 0;
        let in_use = held.networks.iter().filter(|held| held.phase == Phase::Active || is_used(&held.name));
        let in_use: BTreeSet<NetworkName> = in_use.map(|held| held.name.clone()).collect();
        let per_node = &PerNodeNetworks::of(&input);
        select(Facts {
            input: &input,
            missing: &missing,
            previous: held,
            in_use: &in_use,
            lost: &BTreeSet::new(),
            per_node,
        })
    }

    /// An agent keeps the last valid form of an uplink; here it is the one that it has.
    fn valid_uplinks(&self, held: &BTreeMap<UplinkName, Arc<NodeUplink>>) -> BTreeMap<UplinkName, Arc<ValidUplink>> {
        let kept = |uplink: &NodeUplink| ValidUplink {
            name: uplink.name.clone(),
            generation: uplink.generation,
            engine: uplink.engine,
            nics: vec![ValidNic { nodes: None, nic: uplink.nic.clone() }],
            node_traffic: uplink.node_traffic,
            vlans: VlanRanges::default(),
            underlay: None,
        };
        let valid = self.cache.uplinks.iter().filter_map(|(name, uplink)| match &uplink.spec {
            Ok(valid) => Some(valid.clone()),
            Err(_) => held.get(&name.parse::<UplinkName>().unwrap()).map(|held| kept(held)),
        });
        valid.map(|uplink| (uplink.name.clone(), Arc::new(uplink))).collect()
    }

    fn uplink_reports(&self, node: &str, spec: &NodeSpec) -> BTreeMap<String, UplinkReport> {
        let report = |uplink: &Arc<NodeUplink>| {
            let name = uplink.name.to_string();
            let failure = self.uplink_failures.get(&(node.to_owned(), name.clone())).copied();
            let works = failure.is_none_or(|reason| reason == BOND_DEGRADED);
            let state = if works { UplinkState::Programmed } else { UplinkState::Failed };
            let (reason, generation) = (failure.unwrap_or_default().to_owned(), uplink.generation);
            let (message, nic, active_member) = (format!("{reason} of {name}"), String::new(), String::new());
            (name.clone(), UplinkReport { name, generation, state, reason, message, nic, active_member })
        };
        spec.uplinks.values().map(report).collect()
    }

    fn node_addresses(&self, own: &str) -> NodeAddresses {
        let nodes = self.slices.values().flat_map(|slice| &slice.nodes);
        let nodes = nodes.map(|node| (node.name.clone(), node.clone())).collect();
        NodeAddresses { own: own.to_owned(), nodes }
    }

    fn missing(&self, node: &str) -> BTreeSet<EngineKind> {
        let lacks = |engine: &EngineKind| self.without_engine.contains(&(node.to_owned(), *engine));
        EngineKind::ALL.into_iter().filter(lacks).collect()
    }

    fn attached(&self, node: &str, network: &str) -> i64 {
        self.attachments.get(&(node.to_owned(), network.to_owned())).copied().unwrap_or_default()
    }

    fn status_of(&self, node: &str, spec: &NodeSpec) -> NodeStatus {
        let missing = self.missing(node);
        let down = missing.iter().map(|engine| (*engine, "no socket".to_owned()));
        let mut reports: BTreeMap<String, NetworkReport> = BTreeMap::new();
        for network in &spec.networks {
            let name = network.name.as_str();
            let failure = self.failures.get(&(node.to_owned(), name.to_owned()));
            let state = match (network.phase, failure) {
                (Phase::Draining, _) => NetworkState::Draining,
                (Phase::Active, Some(_)) => NetworkState::Failed,
                (Phase::Active, None) => NetworkState::Programmed,
            };
            let reason = failure.copied().unwrap_or_default();
            let attachments = self.attached(node, name);
            if attachments > 0 || state == NetworkState::Failed {
                let pods = (0..attachments).map(|pod| format!("team-a/{node}-{pod}")).collect();
                let found = report(name, network.generation, state, (reason, ""));
                let connected = (attachments - 1).max(0);
                reports.insert(name.to_owned(), NetworkReport { attachments, connected, pods, ..found });
            }
        }
        for refused in &spec.refused {
            let (name, reason) = (refused.name.as_str(), refused.reason.as_str());
            let found = report(name, refused.generation, NetworkState::Failed, (reason, &refused.message));
            reports.entry(name.to_owned()).or_insert(found);
        }
        let has = |name: &str| spec.networks.iter().any(|network| network.name.as_str() == name);
        for ((_, name), reason) in self.kept_bridges.iter().filter(|((place, name), _)| place == node && !has(name)) {
            let found = report(name, 0, NetworkState::Draining, (reason, "port guest0"));
            reports.insert(name.clone(), found);
        }
        let (observed_generation, through) = (Some(spec.generation), spec.through);
        let uplinks = self.uplink_reports(node, spec);
        let down = down.collect();
        let attachments = self.attachment_reports(node);
        NodeStatus {
            observed_generation,
            through,
            down,
            missing,
            reports,
            uplinks,
            attachments,
            ..NodeStatus::default()
        }
    }
}

fn report(name: &str, generation: i64, state: NetworkState, (reason, message): (&str, &str)) -> NetworkReport {
    NetworkReport {
        name: name.to_owned(),
        generation,
        state,
        reason: reason.to_owned(),
        message: message.to_owned(),
        attachments: 0,
        connected: 0,
        pods: Vec::new(),
        degraded: Vec::new(),
    }
}
