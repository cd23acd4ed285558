//! Prepare and unprepare with a service for attachments that can fail.

use super::*;
use crate::agent::claims::claim::ResourceClaim;
use crate::agent::claims::claim::tests::claim as example;
use crate::agent::claims::metadata;
use crate::agent::claims::reporter::Reporter;
use crate::agent::testing::{network, record};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;
use std::time::Instant;
use tokio::sync::watch::channel;
use usnet_crds::{NodeNetwork, Phase};
use usnet_dataplane::journal::{LOCK_TIMEOUT, LockedAttachment};
use usnet_dataplane::port::{PortBackend, SocketPath};

/// An API server with one claim.
#[derive(Default)]
struct OneClaim {
    claim: Mutex<Option<Value>>,
    reported: Mutex<Vec<ClaimRecord>>,
    /// Of writes of the status.
    is_down: Mutex<bool>,
}

#[tonic::async_trait]
impl Claims for OneClaim {
    async fn get(&self, namespace: &str, name: &str) -> Result<ResourceClaim, reader::Error> {
        let found = self.claim.lock().unwrap().clone();
        found
            .map(|claim| serde_json::from_value(claim).unwrap())
            .ok_or(reader::Error::NotFound(format!("{namespace}/{name}")))
    }

    async fn report(&self, record: &ClaimRecord) -> Result<(), reader::Error> {
        let claim = format!("{}/{}", record.namespace, record.name);
        if *self.is_down.lock().unwrap() {
            return Err(reader::Error::Timeout { action: "write the status of claim", claim });
        }
        if self.claim.lock().unwrap().is_none() {
            return Err(reader::Error::NotFound(claim));
        }
        self.reported.lock().unwrap().push(record.clone());
        Ok(())
    }
}

/// Writes records as the plugin does. `failures` are those of the next calls.
struct FakePlugin {
    paths: NodePaths,
    journal: Journal,
    calls: Mutex<Vec<String>>,
    failures: Mutex<VecDeque<&'static str>>,
    /// DEL while the engine is down.
    is_engine_down: Mutex<bool>,
    /// Whether another process locks what was attached, and what it has locked.
    is_locked_next: Mutex<bool>,
    locked: Mutex<Vec<LockedAttachment>>,
}

impl FakePlugin {
    fn call(&self, verb: &str, id: &AttachmentId) -> Result<(), attach::Error> {
        self.calls.lock().unwrap().push(format!("{verb} {}", id.interface));
        match self.failures.lock().unwrap().pop_front() {
            Some(text) => {
                Err(attach::Error::Plugin(attach::CniError { code: 11, msg: text.to_owned(), details: String::new() }))
            }
            None => Ok(()),
        }
    }
}

#[tonic::async_trait]
impl Attacher for FakePlugin {
    async fn attach(&self, pod: &Pod, id: &AttachmentId, port: &ClaimPort) -> Result<(), attach::Error> {
        self.call("ADD", id)?;
        // As the real one, it does not answer at once.
        tokio::task::yield_now().await;
        let locked = self.journal.lock(id).unwrap();
        assert_eq!(locked.read().unwrap(), None, "attached twice");
        let folder = port_folder(&self.paths, &id.container.claim().unwrap(), &id.interface);
        fs::create_dir_all(&folder).unwrap();
        let mut attached = record("x", &network(port.network.as_str()));
        attached.id = id.clone();
        attached.pod = pod.clone();
        let socket = SocketPath::try_from(folder.join(format!("{}.sock", id.interface))).unwrap();
        attached.port.backend = PortBackend::VhostUser { socket, engine_role: Default::default() };
        attached.progress = Progress::Attached;
        locked.write(&attached).unwrap();
        if *self.is_locked_next.lock().unwrap() {
            self.locked.lock().unwrap().push(locked);
        }
        Ok(())
    }

    async fn detach(&self, _: &Pod, id: &AttachmentId) -> Result<(), attach::Error> {
        self.call("DEL", id)?;
        let locked = self.journal.lock(id).unwrap();
        match locked.read().unwrap() {
            Some(record) if *self.is_engine_down.lock().unwrap() => {
                locked.write(&Record { progress: Progress::Detached, ..record }).unwrap();
            }
            _ => locked.remove().unwrap(),
        }
        let _gone = fs::remove_dir(port_folder(&self.paths, &id.container.claim().unwrap(), &id.interface));
        Ok(())
    }
}

/// A node, and what prepares its claims.
pub(in crate::agent::claims) fn node() -> (Node, Preparer) {
    let node = Node::new();
    let other = preparer(&node.paths, &node.api, &node.plugin, node.networks.subscribe());
    (node, other)
}

/// A node with the network `blue`.
pub(in crate::agent::claims) struct Node {
    _folder: tempfile::TempDir,
    pub(in crate::agent::claims) paths: NodePaths,
    api: Arc<OneClaim>,
    plugin: Arc<FakePlugin>,
    networks: Sender<Option<Arc<Networks>>>,
    preparer: Preparer,
}

fn networks(network: NodeNetwork) -> Option<Arc<Networks>> {
    Some(Arc::new([(network.name.clone(), Arc::new(network))].into()))
}

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let journal = Journal::open(&paths).unwrap();
        let api = Arc::new(OneClaim { claim: Mutex::new(Some(example())), ..OneClaim::default() });
        let plugin = Arc::new(FakePlugin {
            paths: paths.clone(),
            journal,
            calls: Mutex::default(),
            failures: Mutex::default(),
            is_engine_down: Mutex::default(),
            is_locked_next: Mutex::default(),
            locked: Mutex::default(),
        });
        let (networks, receiver) = channel(networks(network("blue")));
        let preparer = preparer(&paths, &api, &plugin, receiver);
        Self { _folder: folder, paths, api, plugin, networks, preparer }
    }

    /// The agent is killed, and starts again.
    fn restart(&mut self) {
        self.preparer = preparer(&self.paths, &self.api, &self.plugin, self.networks.subscribe());
    }

    async fn prepare(&self) -> Result<Vec<api::Device>, String> {
        let prepared = self.preparer.prepare(&call()).await;
        prepared.map_err(|error| crate::display::ErrorChain(&error).to_string())
    }

    async fn unprepare(&self) -> Result<(), String> {
        let done = self.preparer.unprepare(&call()).await;
        done.map_err(|error| crate::display::ErrorChain(&error).to_string())
    }

    fn reporter(&self) -> Reporter {
        let claims = Arc::clone(&self.api) as Arc<dyn Claims>;
        Reporter { records: self.preparer.records.clone(), busy: self.preparer.busy.clone(), claims }
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        change(self.api.claim.lock().unwrap().as_mut().unwrap());
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.plugin.calls.lock().unwrap())
    }

    fn fail(&self, text: &'static str) {
        self.plugin.failures.lock().unwrap().push_back(text);
    }

    /// What is left on the node.
    fn left(&self) -> Vec<String> {
        let folders =
            [self.paths.claims(), self.paths.claim_folders(), self.paths.claim_metadata(), self.paths.cdi.clone()];
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

fn preparer(
    paths: &NodePaths,
    api: &Arc<OneClaim>,
    plugin: &Arc<FakePlugin>,
    networks: Receiver<Option<Arc<Networks>>>,
) -> Preparer {
    Preparer {
        node: "node-a".into(),
        paths: paths.clone(),
        records: ClaimRecords::new(paths),
        journal: Journal::open(paths).unwrap(),
        networks,
        claims: Arc::clone(api) as Arc<dyn Claims>,
        attacher: Arc::clone(plugin) as Arc<dyn Attacher>,
        busy: Busy::default(),
        reports: channel(()).0,
    }
}

fn call() -> api::Claim {
    api::Claim { namespace: "default".into(), uid: "c-1".into(), name: "web-uplink-x7".into() }
}

#[tokio::test]
async fn a_claim_is_prepared_and_unprepared() {
    let node = Node::new();
    let [device] = node.prepare().await.unwrap().try_into().unwrap();
    assert_eq!(device.cdi_device_ids, ["usnet.dev/port=c-1-port"]);
    assert_eq!((device.request_names, device.device_name.as_str()), (vec!["port".to_owned()], "blue"));
    assert_eq!((device.pool_name.as_str(), device.share_id.as_deref()), ("node-a", Some("s-1")));
    let record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(record.ports.first().unwrap().attached.as_ref().unwrap().socket.as_deref(), Some("net7.sock"));
    let spec = fs::read_to_string(cdi::path(&node.paths, &record.uid)).unwrap();
    assert!(spec.contains("/run/usnet.dev/uplink/port"), "{spec}");
    let metadata = fs::read_to_string(metadata::path(&node.paths, &record, "port")).unwrap();
    assert!(metadata.contains("/run/usnet.dev/uplink/port/net7.sock"), "{metadata}");
    assert!(!record.is_reported);
    node.unprepare().await.unwrap();
    assert_eq!((node.calls(), node.left()), (vec!["ADD net7".to_owned(), "DEL net7".to_owned()], vec![]));
}

/// The reconcilers lock attachments on the same thread, across waits.
#[tokio::test]
async fn prepare_does_not_wait_for_the_lock_of_an_attachment() {
    let node = Node::new();
    *node.plugin.is_locked_next.lock().unwrap() = true;
    let started = Instant::now();
    node.prepare().await.unwrap();
    node.prepare().await.unwrap();
    assert!(started.elapsed() < LOCK_TIMEOUT);
    assert_eq!((node.calls(), node.plugin.locked.lock().unwrap().len()), (vec!["ADD net7".to_owned()], 1));
}

#[tokio::test]
async fn both_may_be_repeated_and_nothing_is_attached_twice() {
    let mut node = Node::new();
    let first = node.prepare().await.unwrap();
    node.restart();
    assert_eq!(node.prepare().await.unwrap(), first);
    assert_eq!(node.calls(), ["ADD net7"]);
    node.unprepare().await.unwrap();
    node.unprepare().await.unwrap();
    assert_eq!(node.calls(), ["DEL net7"]);
}

/// kubelet prepares again then, and the folder of the port is gone.
#[tokio::test]
async fn after_a_reboot_the_port_is_attached_anew() {
    let node = Node::new();
    node.prepare().await.unwrap();
    fs::remove_dir_all(&node.paths.run).unwrap();
    fs::remove_dir_all(&node.paths.cdi).unwrap();
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7", "ADD net7"]);
    assert!(cdi::path(&node.paths, &"c-1".parse().unwrap()).exists());
}

#[tokio::test]
async fn a_failed_attachment_is_retried_and_released() {
    let node = Node::new();
    node.fail("network blue is not programmed on this node");
    let refused = node.prepare().await.unwrap_err();
    assert_eq!(
        refused,
        "interface net7 of network blue cannot be attached: network blue is not programmed on this node"
    );
    assert_eq!(node.left(), ["c-1.json"], "the record stays until kubelet gives up");
    node.prepare().await.unwrap();
    node.unprepare().await.unwrap();
    node.fail("x");
    node.prepare().await.unwrap_err();
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
}

/// Killed after ADD and before it was recorded with the claim.
#[tokio::test]
async fn an_agent_that_was_killed_during_prepare_finds_the_port() {
    let mut node = Node::new();
    node.prepare().await.unwrap();
    let mut record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    for port in &mut record.ports {
        port.attached = None;
    }
    node.preparer.records.write(&record).unwrap();
    files::remove(&node.paths, &record.uid).unwrap();
    node.restart();
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7"]);
    assert!(node.preparer.records.read(&record.uid).unwrap().unwrap().is_prepared());
}

#[tokio::test]
async fn a_claim_that_is_gone_is_unprepared_by_its_records() {
    let mut node = Node::new();
    node.prepare().await.unwrap();
    *node.api.claim.lock().unwrap() = None;
    node.networks.send_replace(Some(Arc::default()));
    node.restart();
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
    assert!(node.prepare().await.unwrap_err().contains("there is no claim default/web-uplink-x7"));
}

#[tokio::test]
async fn a_damaged_record_does_not_keep_a_pod() {
    let node = Node::new();
    node.prepare().await.unwrap();
    fs::write(node.paths.claims().join("c-1.json"), "{").unwrap();
    node.unprepare().await.unwrap();
    assert_eq!((node.calls().pop().as_deref(), node.left()), (Some("DEL net7"), vec![]));
}

/// The agent removes the port later, as that of any pod.
#[tokio::test]
async fn an_engine_that_is_down_does_not_keep_a_pod() {
    let node = Node::new();
    node.prepare().await.unwrap();
    *node.plugin.is_engine_down.lock().unwrap() = true;
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
    node.unprepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7"]);
}

#[tokio::test]
async fn a_failed_detachment_is_retried() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.fail("busy");
    assert_eq!(node.unprepare().await.unwrap_err(), "interface net7 cannot be detached: busy");
    assert!(!node.left().is_empty());
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
}

/// The same claim, allocated again after its pod was deleted.
#[tokio::test]
async fn another_allocation_replaces_what_is_left_of_the_first() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.change(|claim| claim["status"]["reservedFor"][0] = json!({"resource": "pods", "name": "next", "uid": "p-2"}));
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7", "ADD net7"]);
    let record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(record.pod.name, "next");
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let node = Node::new();
    let second = json!({"resource": "pods", "name": "other", "uid": "p-2"});
    node.change(|claim| claim["status"]["reservedFor"].as_array_mut().unwrap().push(second));
    assert!(node.prepare().await.unwrap_err().contains("reserved for 2 pods"));
    node.change(|claim| *claim = example());
    node.change(|claim| {
        claim["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"]["colour"] = json!("red");
    });
    assert!(node.prepare().await.unwrap_err().contains("colour"));
    node.change(|claim| *claim = example());
    for (network, expected) in [
        (NodeNetwork { phase: Phase::Draining, ..network("blue") }, "is being deleted"),
        (NodeNetwork { namespaces: ["db"].into_iter().collect(), ..network("blue") }, "may not use network blue"),
        (network("red"), "of no network"),
    ] {
        node.networks.send_replace(networks(network));
        let refused = node.prepare().await.unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!((node.calls(), node.left()), (vec![], vec![]));
}

/// Once for each change, also after failures and restarts.
#[tokio::test]
async fn the_devices_of_a_claim_are_reported_once() {
    let mut node = Node::new();
    let reported = |node: &Node| node.api.reported.lock().unwrap().len();
    node.prepare().await.unwrap();
    *node.api.is_down.lock().unwrap() = true;
    assert!(node.reporter().report_all().await.is_err());
    *node.api.is_down.lock().unwrap() = false;
    {
        let uid = "c-1".parse().unwrap();
        let _prepared_again = node.preparer.busy.enter(&uid).unwrap();
        assert!(!node.reporter().report_all().await.unwrap(), "it may have changed");
    }
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 2);
    node.restart();
    node.prepare().await.unwrap();
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 2, "nothing has changed");

    // Another port.
    fs::remove_dir_all(&node.paths.run).unwrap();
    node.change(|claim| claim["status"]["reservedFor"][0] = json!({"resource": "pods", "name": "next", "uid": "p-2"}));
    node.prepare().await.unwrap();
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 3);

    // Its claim is deleted before.
    node.unprepare().await.unwrap();
    node.prepare().await.unwrap();
    *node.api.claim.lock().unwrap() = None;
    assert!(node.reporter().report_all().await.unwrap());
    assert!(node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap().is_reported);
}

/// Running pods keep what they have when kubelet prepares their claim again.
#[tokio::test]
async fn a_prepared_claim_of_a_draining_network_stays() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.networks.send_replace(networks(NodeNetwork { phase: Phase::Draining, ..network("blue") }));
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7"]);
}
