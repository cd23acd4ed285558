//! A cluster in memory: it applies writes as the API server does, and its agents use the selection
//! code of the agent.

mod agents;
mod api_server;
mod attachments;
mod changes;
mod reservations;
mod uplinks;

use super::super::cache::dirty::Dirty;
use super::super::cache::nads::{Availability, NadKey, NadSet};
use super::super::cache::parse;
use super::super::cache::{Cache, Namespace, Network, Node};
use super::super::evaluate::{Evaluator, Now, Outbox};
use super::super::events::EventRecord;
use super::super::legacy;
use super::super::write::guards::Guards;
use super::super::write::queue::Queue;
use super::super::write::{Target, Write};
pub(super) use agents::Agent;
pub(super) use api_server::Object;
pub(super) use attachments::name as attachment_name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;
use usnet_crds::{CompiledNetworkSpec, EngineKind, Phase, UserspaceNetworkStatus, UserspaceNodeSliceSpec};

/// More passes than any change needs.
const PASSES_MAX: usize = 14;
/// Between two passes: longer than any status waits.
const STEP: Duration = Duration::from_secs(301);

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) cache: Cache,
    /// Attached interfaces by node and network. Of those on one node all but one are connected.
    pub(super) attachments: BTreeMap<(String, String), i64>,
    /// Engines that nodes do not have.
    pub(super) without_engine: BTreeSet<(String, EngineKind)>,
    /// Nodes on which no agent runs.
    pub(super) without_agent: BTreeSet<String>,
    /// What networks fail with, by node and network.
    pub(super) failures: BTreeMap<(String, String), &'static str>,
    /// What uplinks fail with, by node and uplink.
    pub(super) uplink_failures: BTreeMap<(String, String), &'static str>,
    /// Bridges that nodes cannot remove, with the reason, by node and network: they stay when the
    /// network is removed from the node.
    pub(super) kept_bridges: BTreeMap<(String, String), &'static str>,
    pub(super) legacy: legacy::Options,
    /// Interfaces that cannot be attached.
    pub(super) refused_interfaces: BTreeSet<String>,
    /// What the API server says of NADs in namespaces that refuse them.
    pub(super) refusing: BTreeMap<String, String>,
    /// The NADs that were refused, with these words: what the leader knows.
    pub(super) refused: BTreeMap<NadKey, String>,
    /// Compiled networks in the API server.
    pub(super) compiled: BTreeMap<String, CompiledNetworkSpec>,
    /// NADs in the API server.
    pub(super) nads: BTreeMap<NadKey, Object>,
    pub(super) agents: BTreeMap<String, Agent>,
    /// Slices of nodes in the API server.
    pub(super) slices: BTreeMap<String, UserspaceNodeSliceSpec>,
    /// Addresses of nodes that differ from the usual ones.
    pub(super) addresses: BTreeMap<String, Vec<IpAddr>>,
    /// Guards of a pass that is evaluated without sending.
    pub(super) guards: Guards,
    evaluator: Evaluator,
    queue: Queue,
    /// The cluster as it was at the last pass.
    seen: Option<Box<Cache>>,
    event_deduplicator: legacy::EventDeduplicator,
    records: Vec<EventRecord>,
    start: Instant,
    passes: u32,
    pub(super) seconds: i64,
    uids: usize,
    version: u64,
}

impl Cluster {
    /// Two ready nodes, the namespace `team-a` with the label `team=a`, and `other` without.
    pub(super) fn new() -> Self {
        let mut cluster = Self {
            cache: Cache { nads: NadSet::none(), ..Cache::default() },
            attachments: BTreeMap::new(),
            without_engine: BTreeSet::new(),
            without_agent: BTreeSet::new(),
            failures: BTreeMap::new(),
            uplink_failures: BTreeMap::new(),
            kept_bridges: BTreeMap::new(),
            legacy: legacy::Options::default(),
            refused_interfaces: BTreeSet::new(),
            refusing: BTreeMap::new(),
            refused: BTreeMap::new(),
            compiled: BTreeMap::new(),
            nads: BTreeMap::new(),
            agents: BTreeMap::new(),
            slices: BTreeMap::new(),
            addresses: BTreeMap::new(),
            guards: Guards::default(),
            evaluator: Evaluator::default(),
            queue: Queue::default(),
            seen: None,
            event_deduplicator: legacy::EventDeduplicator::default(),
            records: Vec::new(),
            start: Instant::now(),
            passes: 0,
            seconds: 0,
            uids: 0,
            version: 100,
        };
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

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub(super) fn node(&mut self, name: &str, is_ready: bool) {
        let labels = [("host".to_owned(), name.to_owned())].into();
        let (uid, created) = match self.cache.nodes.get(name) {
            Some(node) => (node.uid.clone(), node.created.clone()),
            None => (self.uid(), Some(self.time())),
        };
        let addresses = self.addresses.get(name).cloned().unwrap_or_else(|| vec![address_of(name)]);
        self.cache.nodes.insert(name.to_owned(), Node { uid, created, labels, is_ready, addresses });
    }

    pub(super) fn namespace(&mut self, name: &str, labels: &[(&str, &str)]) {
        // As the API server labels them.
        let its_name = [("kubernetes.io/metadata.name", name)];
        let labels =
            labels.iter().chain(&its_name).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.cache.namespaces.insert(name.to_owned(), Namespace { labels, is_deleting: false });
    }

    /// Creates a network, or changes its spec.
    pub(super) fn network(&mut self, name: &str, spec: &Value) {
        self.seconds += 1;
        let old = self.cache.networks.remove(name);
        let uid = old.as_ref().map(|old| old.uid.clone()).unwrap_or_else(|| self.uid());
        let generation = old.as_ref().map_or(1, |old| old.generation + 1);
        let object = json!({"metadata": {"name": name, "uid": uid, "generation": generation}, "spec": spec});
        let (_, new) = parse::network(&serde_json::from_str(&object.to_string()).unwrap());
        let kept = old.unwrap_or(Network { created: Some(self.time()), ..new.clone() });
        self.cache.networks.insert(name.to_owned(), Network { spec: new.spec, generation, ..kept });
    }

    /// A network on all nodes and in the namespaces of team a.
    pub(super) fn simple_network(&mut self, name: &str) {
        self.network(name, &json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}}));
    }

    /// The same with VPP.
    pub(super) fn simple_vpp_network(&mut self, name: &str) {
        self.network(name, &json!({"engine": "VPP", "namespaceSelector": {"matchLabels": {"team": "a"}}}));
    }

    /// The default status in the CRD, of a network that was just created.
    pub(super) fn give_first_status(&mut self, name: &str) {
        let status = json!({"conditions": [{
            "type": "Ready", "status": "Unknown", "reason": "WaitingForController", "message": "",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
        }]});
        let status = serde_json::from_value(status).unwrap();
        self.edit(name, |network| network.status = Some(status));
    }

    pub(super) fn edit(&mut self, name: &str, edit: impl FnOnce(&mut Network)) {
        edit(self.cache.networks.get_mut(name).unwrap());
    }

    pub(super) fn delete_network(&mut self, name: &str) {
        self.seconds += 1;
        let now = self.time();
        let network = self.cache.networks.get_mut(name).unwrap();
        network.deleted = Some(now);
        network.generation += 1;
        if !network.has_finalizer() {
            self.cache.networks.remove(name);
        }
    }

    pub(super) fn install_at(&mut self, time: Option<Time>) {
        self.cache.installed = time;
        self.evaluator.mark(Dirty::everything(&self.cache));
    }

    pub(super) fn foreign_nad(&mut self, namespace: &str, name: &str) {
        self.put_nad(key(namespace, name), Object::of_user("{}"));
    }

    /// Creates a NAD as a user does, or changes it.
    pub(super) fn nad(&mut self, namespace: &str, name: &str, config: &str) {
        self.seconds += 1;
        let key = key(namespace, name);
        let (uid, created) = match self.nads.get(&key) {
            Some(old) => (old.uid.clone(), old.created.clone()),
            None => (self.uid(), Some(self.time())),
        };
        self.put_nad(key, Object { uid, created, ..Object::of_user(config) });
    }

    pub(super) fn delete_nad(&mut self, namespace: &str, name: &str) {
        self.remove_nad(&key(namespace, name));
    }

    /// The events of NADs since the last call: `namespace/name reason`, and the message.
    pub(super) fn reports(&mut self) -> Vec<(String, String)> {
        let reports = std::mem::take(&mut self.records).into_iter().map(|record| {
            let object = record.regarding;
            let place = format!("{}/{}", object.namespace.unwrap_or_default(), object.name.unwrap_or_default());
            (format!("{place} {}", record.reason), record.message)
        });
        reports.collect()
    }

    pub(super) fn attach(&mut self, node: &str, network: &str, count: i64) {
        self.attachments.insert((node.to_owned(), network.to_owned()), count);
    }

    pub(super) fn time(&self) -> Time {
        Time(Timestamp::from_second(1_800_000_000 + self.seconds).unwrap())
    }

    fn now(&self) -> Now {
        Now { instant: self.start + STEP * self.passes, time: self.time() }
    }

    /// One pass of the controller; returns its writes. It evaluates only what changed, and the
    /// result must equal that of an evaluation of everything.
    pub(super) fn pass(&mut self) -> Vec<Write> {
        let mut writes = self.evaluate_changes();
        let now = self.now();
        let guards = Guards::default();
        let mut nads = Vec::new();
        while let Some(write) = self.evaluator.next_nad_write(&self.cache, &guards) {
            nads.push(write);
        }
        let refused = nads.extract_if(.., |write| self.refusal(write).is_some()).collect::<Vec<_>>();
        writes.extend(nads);
        assert_eq!(sorted(&writes), sorted(&self.evaluate_everything()), "the writes of an evaluation of everything");
        refused.iter().chain(&writes).for_each(|write| self.record_nad(write));
        for write in &writes {
            self.evaluator.record_status_write(write, now.instant);
            self.queue.remove(&write.target());
            // As when a watch shows it.
            self.evaluator.mark_target(write.target());
        }
        for write in writes.clone() {
            self.apply(write);
        }
        writes
    }

    /// Evaluates what changed, without writing; returns the pending writes, except those of NADs.
    pub(super) fn evaluate_changes(&mut self) -> Vec<Write> {
        self.seconds += 1;
        self.passes += 1;
        let now = self.now();
        let changes = self.changes();
        self.evaluator.mark(changes);
        self.seen = Some(Box::new(self.cache.clone()));
        let is_legacy_dirty = self.evaluator.is_legacy_dirty();
        self.evaluator.count_nads(&self.cache);
        let mut outbox = Outbox { queue: &mut self.queue, guards: &self.guards, now: &now };
        self.evaluator.decide_reservations(&mut self.cache);
        self.evaluator.evaluate(&mut self.cache, &mut outbox);
        if is_legacy_dirty {
            let records = self.evaluator.evaluate_legacy(&self.cache, &self.legacy, &mut outbox);
            self.records.extend(self.event_deduplicator.filter_new(records));
        }
        self.queue.writes().cloned().collect()
    }

    /// A target may be written again.
    pub(super) fn mark(&mut self, target: Target) {
        self.evaluator.mark_target(target);
    }

    /// What a new leader writes.
    pub(super) fn evaluate_everything(&mut self) -> Vec<Write> {
        let (mut evaluator, mut queue, guards) = (Evaluator::default(), Queue::default(), Guards::default());
        let now = self.now();
        evaluator.mark(Dirty::everything(&self.cache));
        self.refused.iter().for_each(|(key, words)| evaluator.record_nad_result(key, Some(words.clone())));
        evaluator.count_nads(&self.cache);
        let mut outbox = Outbox { queue: &mut queue, guards: &guards, now: &now };
        evaluator.evaluate(&mut self.cache, &mut outbox);
        evaluator.evaluate_legacy(&self.cache, &self.legacy, &mut outbox);
        let mut writes: Vec<Write> = queue.writes().cloned().collect();
        while let Some(write) = evaluator.next_nad_write(&self.cache, &guards) {
            writes.extend(Some(write).filter(|write| self.refusal(write).is_none()));
        }
        writes
    }

    fn refusal(&self, write: &Write) -> Option<(NadKey, String)> {
        let Write::Nad { key, .. } = write else { return None };
        Some((key.clone(), self.refusing.get(&key.namespace)?.clone()))
    }

    /// The leader learns whether a NAD is refused.
    fn record_nad(&mut self, write: &Write) {
        let Write::Nad { key, .. } = write else { return };
        let words = self.refusal(write).map(|(_, words)| words);
        self.evaluator.record_nad_result(key, words.clone());
        match words {
            Some(words) => drop(self.refused.insert(key.clone(), words)),
            None => drop(self.refused.remove(key)),
        }
    }

    /// Passes and answers of agents until nothing changes any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..PASSES_MAX {
            let writes = self.pass();
            let before = self.cache.states.clone();
            self.report();
            let is_settled = writes.is_empty() && !self.evaluator.has_uncounted();
            if is_settled && before == self.cache.states {
                return;
            }
        }
        panic!("still not settled: {:?}", self.pass());
    }

    pub(super) fn status(&self, network: &str) -> UserspaceNetworkStatus {
        self.cache.networks[network].status.clone().unwrap()
    }

    /// What is on a node, with its phase.
    pub(super) fn networks_on(&self, node: &str) -> Vec<(String, Phase)> {
        let networks = self.agents.get(node).into_iter().flat_map(|agent| &agent.spec.networks);
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

    /// Namespaces with a generated NAD of this network.
    pub(super) fn generated(&self, network: &str) -> Vec<String> {
        self.cache.nads.namespaces_of(network).map(str::to_owned).collect()
    }

    /// As without Multus.
    pub(super) fn set_nads_unavailable(&mut self) {
        self.cache.nads = NadSet::default();
        self.cache.nads.availability = Availability::Unavailable;
    }
}

/// Writes by what they change.
pub(super) fn sorted(writes: &[Write]) -> BTreeMap<Target, &Write> {
    writes.iter().map(|write| (write.target(), write)).collect()
}

/// The address of a node follows from its name.
pub(super) fn address_of(node: &str) -> IpAddr {
    [10, 0, 0, node.bytes().last().unwrap_or_default()].into()
}

pub(super) fn key(namespace: &str, name: &str) -> NadKey {
    NadKey { namespace: namespace.to_owned(), name: name.to_owned() }
}
