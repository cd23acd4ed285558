//! A node for tests, with a service for attachments and an API server that can fail.

use super::*;
use crate::claims::claim::ResourceClaim;
use crate::claims::claim::tests::claim as example;
use crate::claims::reporter::Reporter;
use crate::testing::{network, record};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::watch::channel;
use usnet_crds::NodeNetwork;
use usnet_dataplane::journal::LockedAttachment;
use usnet_dataplane::port::{PortBackend, SocketPath};

/// An API server with one claim.
#[derive(Default)]
pub(super) struct OneClaim {
    pub(super) claim: Mutex<Option<Value>>,
    pub(super) reported: Mutex<Vec<ClaimRecord>>,
    /// Whether writes of the status fail.
    pub(super) is_down: Mutex<bool>,
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

/// Writes records as the plugin does. `failures` are the errors of the next calls.
pub(super) struct FakePlugin {
    paths: NodePaths,
    journal: Journal,
    pub(super) calls: Mutex<Vec<String>>,
    failures: Mutex<VecDeque<&'static str>>,
    /// Whether DEL finds the engine down.
    pub(super) is_engine_down: Mutex<bool>,
    /// Whether another process locks the next attachment, and the locks that it holds.
    pub(super) is_locked_next: Mutex<bool>,
    pub(super) locked: Mutex<Vec<LockedAttachment>>,
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
        // The real plugin does not answer at once either.
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

/// A node, and a second preparer for it.
pub(in crate::claims) fn node() -> (Node, Preparer) {
    let node = Node::new();
    let other = preparer(&node.paths, &node.api, &node.plugin, node.networks.subscribe());
    (node, other)
}

/// A node with the network `blue`.
pub(in crate::claims) struct Node {
    _folder: tempfile::TempDir,
    pub(in crate::claims) paths: NodePaths,
    pub(super) api: Arc<OneClaim>,
    pub(super) plugin: Arc<FakePlugin>,
    pub(super) networks: Sender<Option<Arc<Networks>>>,
    pub(super) preparer: Preparer,
}

pub(super) fn networks(network: NodeNetwork) -> Option<Arc<Networks>> {
    Some(Arc::new([(network.name.clone(), Arc::new(network))].into()))
}

impl Node {
    pub(super) fn new() -> Self {
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

    /// Kills the agent and starts it again.
    pub(super) fn restart(&mut self) {
        self.preparer = preparer(&self.paths, &self.api, &self.plugin, self.networks.subscribe());
    }

    pub(super) async fn prepare(&self) -> Result<Vec<api::Device>, String> {
        let prepared = self.preparer.prepare(&call()).await;
        prepared.map_err(|error| usnet_common::display::ErrorChain(&error).to_string())
    }

    pub(super) async fn unprepare(&self) -> Result<(), String> {
        let done = self.preparer.unprepare(&call()).await;
        done.map_err(|error| usnet_common::display::ErrorChain(&error).to_string())
    }

    pub(super) fn reporter(&self) -> Reporter {
        let claims = Arc::clone(&self.api) as Arc<dyn Claims>;
        Reporter { records: self.preparer.records.clone(), busy: self.preparer.busy.clone(), claims }
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Value)) {
        change(self.api.claim.lock().unwrap().as_mut().unwrap());
    }

    pub(super) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.plugin.calls.lock().unwrap())
    }

    pub(super) fn fail(&self, text: &'static str) {
        self.plugin.failures.lock().unwrap().push_back(text);
    }

    /// The names of files and folders that are left on the node.
    pub(super) fn left(&self) -> Vec<String> {
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
