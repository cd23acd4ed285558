//! A cluster in memory: takes the controller's writes as the API server does, and lets agents answer.

use super::super::by_name::ByName;
use super::super::changes::Changes;
use super::super::compile::{Compiled, WantedDefinition, compile};
use super::super::diff::{Edit, Write};
use super::super::feed::Before;
use super::super::from_nad::Told;
use super::super::inputs::{Definition, DefinitionKey, Inputs, Namespace, Network, Node, NodeState, NodeStatus};
use super::super::ledger::Ledger;
use super::super::notice::Notice;
use super::super::parse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::DeserializeGuard;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::conditions::reason::{FOREIGN_PORTS, IN_USE};
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::{Engine, NodeNetwork, Phase, UserspaceNetworkStatus};

/// More passes than any change needs.
const PASSES_MAX: usize = 12;

#[derive(Debug, Clone, Default)]
pub(super) struct Cluster {
    pub(super) inputs: Inputs,
    /// Attached interfaces by node and network. Of those on one node all but one are connected.
    pub(super) attachments: BTreeMap<(String, String), i64>,
    /// Engines that nodes do not have.
    pub(super) without_engine: BTreeSet<(String, Engine)>,
    /// Nodes on which no agent runs.
    pub(super) without_agent: BTreeSet<String>,
    /// What networks fail with, by node and network.
    pub(super) failures: BTreeMap<(String, String), &'static str>,
    /// Bridges that have ports of somebody else, by node and network: they stay when the network is taken from the node.
    pub(super) foreign_ports: BTreeSet<(String, String)>,
    /// What was compiled, kept from pass to pass.
    pub(super) ledger: Ledger,
    /// The cluster as it was at the last pass.
    seen: Option<Box<Inputs>>,
    told: Told,
    notices: Vec<Notice>,
    seconds: i64,
    uids: usize,
}

impl Cluster {
    /// Two ready nodes, the namespace `team-a` with the label `team=a`, and `other` without.
    pub(super) fn new() -> Self {
        let mut cluster =
            Self { inputs: Inputs { definitions: Some(BTreeMap::new()), ..Inputs::default() }, ..Self::default() };
        cluster.node("node-a", true);
        cluster.node("node-b", true);
        cluster.namespace("team-a", &[("team", "a")]);
        cluster.namespace("other", &[]);
        cluster
    }

    fn uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{}", self.uids)
    }

    pub(super) fn node(&mut self, name: &str, is_ready: bool) {
        let labels = [("host".to_owned(), name.to_owned())].into();
        let (uid, created) = match self.inputs.nodes.get(name) {
            Some(node) => (node.uid.clone(), node.created.clone()),
            None => (self.uid(), Some(self.now())),
        };
        self.inputs.nodes.insert(name.to_owned(), Node { uid, created, labels, is_ready });
    }

    pub(super) fn namespace(&mut self, name: &str, labels: &[(&str, &str)]) {
        // As the API server labels them.
        let its_name = [("kubernetes.io/metadata.name", name)];
        let labels =
            labels.iter().chain(&its_name).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.inputs.namespaces.insert(name.to_owned(), Namespace { labels, is_deleting: false });
    }

    /// Makes a network, or changes its spec.
    pub(super) fn network(&mut self, name: &str, spec: &Value) {
        self.seconds += 1;
        let old = self.inputs.networks.remove(name);
        let uid = old.as_ref().map(|old| old.uid.clone()).unwrap_or_else(|| self.uid());
        let generation = old.as_ref().map_or(1, |old| old.generation + 1);
        let object = json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "spec": spec,
            "metadata": {"name": name, "uid": uid, "generation": generation},
        });
        let guarded: DeserializeGuard<_> = serde_json::from_value(object).unwrap();
        let (_, new) = parse::network(&guarded);
        let kept = old.unwrap_or(Network { created: Some(self.now()), ..new.clone() });
        self.inputs.networks.insert(name.to_owned(), Network { spec: new.spec, generation, ..kept });
    }

    /// A network on all nodes and in the namespaces of team a.
    pub(super) fn simple_network(&mut self, name: &str) {
        self.network(name, &json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}}));
    }

    /// The same with VPP.
    pub(super) fn simple_vpp_network(&mut self, name: &str) {
        self.network(name, &json!({"engine": "VPP", "namespaceSelector": {"matchLabels": {"team": "a"}}}));
    }

    pub(super) fn delete_network(&mut self, name: &str) {
        self.seconds += 1;
        let now = self.now();
        let network = self.inputs.networks.get_mut(name).unwrap();
        (network.is_deleting, network.deletion_asked) = (true, Some(now));
        network.generation += 1;
        if !network.has_finalizer {
            self.inputs.networks.remove(name);
        }
    }

    pub(super) fn foreign_definition(&mut self, namespace: &str, name: &str) {
        let definition = Definition { uid: self.uid(), config: "{}".to_owned(), ..Definition::default() };
        self.inputs.definitions.get_or_insert_default().insert(key(namespace, name), definition);
    }

    /// Makes a hand-written definition, or changes it.
    pub(super) fn definition(&mut self, namespace: &str, name: &str, config: &str) {
        self.seconds += 1;
        let key = key(namespace, name);
        let old = self.inputs.definitions.as_ref().and_then(|definitions| definitions.get(&key)).cloned();
        let (uid, created) = match old {
            Some(old) => (old.uid, old.created),
            None => (self.uid(), Some(self.now())),
        };
        let object = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "spec": {"config": config},
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": created},
        });
        let guarded: DeserializeGuard<_> = serde_json::from_value(object).unwrap();
        let (key, definition) = parse::definition(&guarded);
        self.inputs.definitions.get_or_insert_default().insert(key, definition);
    }

    pub(super) fn delete_definition(&mut self, namespace: &str, name: &str) {
        self.inputs.definitions.as_mut().unwrap().remove(&key(namespace, name)).unwrap();
    }

    /// What people were told of definitions since this was asked last: `namespace/name reason`, and the message.
    pub(super) fn told(&mut self) -> Vec<(String, String)> {
        let told = std::mem::take(&mut self.notices).into_iter().map(|notice| {
            let object = notice.regarding;
            let place = format!("{}/{}", object.namespace.unwrap_or_default(), object.name.unwrap_or_default());
            (format!("{place} {}", notice.reason), notice.message)
        });
        told.collect()
    }

    pub(super) fn attach(&mut self, node: &str, network: &str, count: i64) {
        self.attachments.insert((node.to_owned(), network.to_owned()), count);
    }

    pub(super) fn now(&self) -> Time {
        Time(Timestamp::from_second(1_800_000_000 + self.seconds).unwrap())
    }

    /// One pass of the controller; gives back what it wrote. It looks only at what changed, and has to come to what a look at everything does.
    pub(super) fn pass(&mut self) -> Vec<Write> {
        let writes = self.look();
        let mut fresh = Ledger::from_scratch(&self.inputs);
        assert_eq!(self.ledger.compiled(&self.inputs), fresh.compiled(&self.inputs));
        assert_eq!(self.ledger.definitions_ask_for(), fresh.definitions_ask_for());
        assert_eq!(writes, fresh.writes(&self.inputs, &self.now()));
        self.notices.extend(self.ledger.notices().into_iter().flat_map(|notices| self.told.news(notices)));
        for write in writes.clone() {
            self.take(write);
        }
        writes
    }

    /// A pass that writes nothing; gives back what it would write.
    pub(super) fn look(&mut self) -> Vec<Write> {
        self.seconds += 1;
        self.ledger.update(&self.inputs, &self.changes());
        self.seen = Some(Box::new(self.inputs.clone()));
        self.ledger.writes(&self.inputs, &self.now())
    }

    fn changes(&self) -> Changes {
        let Some(seen) = &self.seen else { return Changes::everything() };
        let definitions = (seen.definitions.as_ref(), self.inputs.definitions.as_ref());
        let (Some(definitions_seen), Some(definitions)) = definitions else { return Changes::everything() };
        Changes {
            everything: false,
            networks: before(&seen.networks, &self.inputs.networks),
            namespaces: before(&seen.namespaces, &self.inputs.namespaces),
            nodes: before(&seen.nodes, &self.inputs.nodes),
            states: before(&seen.states, &self.inputs.states),
            definitions: before(definitions_seen, definitions),
        }
    }

    /// Passes and answers of agents until nothing changes any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..PASSES_MAX {
            let writes = self.pass();
            let before = self.inputs.states.clone();
            self.agents();
            if writes.is_empty() && before == self.inputs.states {
                return;
            }
        }
        panic!("still not settled: {:?}", self.pass());
    }

    pub(super) fn compiled(&self) -> Compiled {
        compile(&self.inputs)
    }

    pub(super) fn status(&self, network: &str) -> UserspaceNetworkStatus {
        self.inputs.networks[network].status.clone().unwrap()
    }

    /// What is held on a node, with its phase.
    pub(super) fn held(&self, node: &str) -> Vec<(String, Phase)> {
        let networks = self.inputs.states[node].networks.iter().flat_map(ByName::iter);
        networks.map(|network| (network.name.to_string(), network.phase)).collect()
    }

    /// The condition as `status reason`.
    pub(super) fn condition(&self, network: &str, kind: &str) -> String {
        let status = self.status(network);
        let condition = usnet_crds::conditions::find(&status.conditions, kind);
        condition.map(|condition| format!("{} {}", condition.status, condition.reason)).unwrap_or_default()
    }

    pub(super) fn message(&self, network: &str, kind: &str) -> String {
        usnet_crds::conditions::find(&self.status(network).conditions, kind).unwrap().message.clone()
    }

    /// Every agent reads its node state and answers.
    pub(super) fn agents(&mut self) {
        let nodes: Vec<String> = self.inputs.states.keys().cloned().collect();
        for node in nodes.into_iter().filter(|node| !self.without_agent.contains(node)) {
            let missing_engines = Engine::ALL.into_iter().filter(|engine| self.lacks(&node, *engine)).collect();
            let state = &self.inputs.states[&node];
            let networks = state.networks.iter().flat_map(ByName::iter);
            let reports = networks.map(|network| self.answer(&node, network));
            let reports = self.blocked(&node).chain(self.kept(&node, state)).chain(reports).collect();
            let status = NodeStatus { observed_generation: Some(state.generation), missing_engines, reports };
            self.inputs.states.get_mut(&node).unwrap().status = Some(status);
        }
    }

    fn lacks(&self, node: &str, engine: Engine) -> bool {
        self.without_engine.contains(&(node.to_owned(), engine))
    }

    /// What an agent says of bridges that it may not remove.
    fn blocked(&self, node: &str) -> impl Iterator<Item = NetworkReport> {
        let blocked = self.foreign_ports.iter().filter(move |(place, _)| place == node);
        blocked.map(|(_, network)| leaving(network, FOREIGN_PORTS, "port guest0"))
    }

    /// What an agent says of networks that its node state does not have, and that pods use.
    fn kept(&self, node: &str, state: &NodeState) -> impl Iterator<Item = NetworkReport> {
        let used = self.attachments.iter().filter(|(_, count)| **count > 0);
        let kept = used.filter(move |((place, network), _)| place == node && state.held(network).is_none());
        kept.map(|((_, network), count)| NetworkReport { attachments: *count, ..leaving(network, IN_USE, "") })
    }

    fn answer(&self, node: &str, network: &NodeNetwork) -> NetworkReport {
        let place = (node.to_owned(), network.name.to_string());
        let failure = self.failures.get(&place);
        let state = match (network.phase, failure) {
            (Phase::Draining, _) => NetworkState::Draining,
            (Phase::Active, Some(_)) => NetworkState::Failed,
            (Phase::Active, None) if self.lacks(node, network.engine) => NetworkState::Failed,
            (Phase::Active, None) => NetworkState::Programmed,
        };
        let attachments = self.attachments.get(&place).copied().unwrap_or_default();
        NetworkReport {
            name: network.name.to_string(),
            generation: network.generation,
            state,
            reason: failure.copied().unwrap_or_default().to_owned(),
            message: String::new(),
            attachments,
            connected: (attachments - 1).max(0),
            pods: (0..attachments).map(|pod| format!("team-a/{node}-{pod}")).collect(),
        }
    }

    fn take_node_state(&mut self, node: String, owner: String, networks: Vec<Arc<NodeNetwork>>) {
        let (uid, now) = (self.uid(), self.now());
        let old = self.inputs.states.remove(&node);
        let kept = old.unwrap_or_else(|| NodeState { uid, created: Some(now), ..NodeState::default() });
        let (generation, networks) = (kept.generation + 1, Some(networks.into_iter().collect()));
        let state = NodeState { owner: Some(owner), generation, networks, is_disordered: false, ..kept };
        self.inputs.states.insert(node, state);
    }

    fn take(&mut self, write: Write) {
        match write {
            Write::NodeState { node, owner, networks } => self.take_node_state(node, owner, networks),
            Write::EditNodeState { node, uid, generation, edits } => {
                let state = self.inputs.states.get_mut(&node).unwrap();
                assert_eq!((&state.uid, state.generation), (&uid, generation));
                let mut networks: Vec<_> = state.networks.iter().flat_map(ByName::iter).cloned().collect();
                for edit in edits {
                    match edit {
                        Edit::Replace(index, network) => networks[index] = network,
                        Edit::Insert(index, network) => networks.insert(index, network),
                        Edit::Remove(index) => drop(networks.remove(index)),
                    }
                }
                assert!(networks.is_sorted_by(|one, two| one.name < two.name), "{networks:?}");
                state.networks = Some(networks.into_iter().collect());
                state.generation += 1;
            }
            Write::DeleteNodeState { node } => drop(self.inputs.states.remove(&node)),
            Write::Definition { key, wanted } => {
                let WantedDefinition { config, resource, owner } = wanted;
                let (uid, label, owner) = (self.uid(), Some(key.name.clone()), Some(owner));
                let definition = Definition { uid, config, label, owner, resource, ..Definition::default() };
                self.inputs.definitions.get_or_insert_default().insert(key, definition);
            }
            Write::DeleteDefinition { key, .. } => drop(self.inputs.definitions.get_or_insert_default().remove(&key)),
            Write::NetworkFromNad { network, spec, .. } => {
                self.network(&network, &serde_json::to_value(spec).unwrap());
                self.inputs.networks.get_mut(&network).unwrap().has_from_nad_label = true;
            }
            Write::DeleteNetwork { network, uid } => {
                assert_eq!(self.inputs.networks[&network].uid, uid);
                self.delete_network(&network);
            }
            Write::Finalizer { network, present, .. } => {
                self.inputs.networks.get_mut(&network).unwrap().has_finalizer = present;
                if !present {
                    self.inputs.networks.remove(&network);
                }
            }
            Write::Status { network, status, .. } => {
                self.inputs.networks.get_mut(&network).unwrap().status = Some(*status);
            }
        }
    }
}

fn leaving(network: &str, reason: &str, message: &str) -> NetworkReport {
    NetworkReport {
        name: network.to_owned(),
        generation: 0,
        state: NetworkState::Draining,
        reason: reason.to_owned(),
        message: message.to_owned(),
        attachments: 0,
        connected: 0,
        pods: Vec::new(),
    }
}

pub(super) fn key(namespace: &str, name: &str) -> DefinitionKey {
    DefinitionKey { namespace: namespace.to_owned(), name: name.to_owned() }
}

/// What changed from one look to the next.
fn before<K: Ord + Clone, T: PartialEq + Clone>(seen: &BTreeMap<K, T>, now: &BTreeMap<K, T>) -> Before<K, T> {
    let keys: BTreeSet<&K> = seen.keys().chain(now.keys()).filter(|key| seen.get(*key) != now.get(*key)).collect();
    keys.into_iter().map(|key| (key.clone(), seen.get(key).cloned())).collect()
}
