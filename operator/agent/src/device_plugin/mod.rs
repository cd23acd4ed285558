//! Networks as extended resources of the node, which kubelet allocates: the scheduler then places a
//! pod where the network is, and where devices are left.
//!
//! [`resource`] computes the resources, from the spec of the node and the published network files.
//! Each resource is [offered](offer) to kubelet by a [`server`] of its own, whose [`service`]
//! allocates devices with their [folders](folder). Nothing here is involved when a pod attaches:
//! the plugin finds its device in what kubelet keeps on disk.

pub mod api;
mod folder;
mod offer;
mod resource;
mod server;
mod service;

use crate::model::spec::NodeSpec;
use crate::reconcile::agent_state::AgentState;
use crate::reconcile::publish::Files;
use crate::watch::folder_watch::{self, CREATED};
use api::{HEALTHY, UNHEALTHY};
use folder::DeviceFolders;
use offer::Offer;
use resource::{Resource, resources};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;
use usnet_crds::NetworkName;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::paths::NodePaths;

/// How long engines may take to start after a reboot of the node.
const BOOT_TIME: Duration = Duration::from_secs(60);

/// Offers all resources of the node.
#[derive(Debug)]
pub(super) struct DevicePlugin {
    agent_state: Rc<AgentState>,
    specs: Receiver<Option<Arc<NodeSpec>>>,
    /// The networks that the node had before a reboot and that are not programmed again yet. Their
    /// devices count as healthy: kubelet admits the node's pods at its start, and fails those
    /// permanently whose devices are not healthy then, whereas the runtime repeats an ADD that
    /// comes before the engine.
    rebooted: BTreeSet<NetworkName>,
    /// Changes of the network files, and of other things.
    files: Receiver<()>,
    kubelet_folder: PathBuf,
    folders: DeviceFolders,
    /// Changes of the folders of devices, and of kubelet's folder.
    changes: Sender<()>,
    offers: BTreeMap<NetworkName, Running>,
    tasks: JoinSet<Infallible>,
    is_watching: bool,
}

#[derive(Debug)]
struct Running {
    resource: Sender<Resource>,
    task: AbortHandle,
}

impl DevicePlugin {
    pub(super) fn new(
        paths: &NodePaths,
        agent_state: Rc<AgentState>,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        files: Receiver<()>,
    ) -> Self {
        let rebooted = match specs.borrow().as_ref() {
            Some(spec) => agent_state.publisher.read(|publisher| without_file(spec, publisher.published())),
            None => BTreeSet::new(),
        };
        Self {
            agent_state,
            specs,
            rebooted,
            files,
            kubelet_folder: paths.kubelet_device_plugins(),
            folders: DeviceFolders::new(paths),
            changes: channel(()).0,
            offers: BTreeMap::new(),
            tasks: JoinSet::new(),
            is_watching: false,
        }
    }

    /// Runs indefinitely.
    pub(super) async fn run(mut self) -> Infallible {
        let mut changes = self.changes.subscribe();
        let boot = sleep(BOOT_TIME);
        tokio::pin!(boot);
        loop {
            self.specs.mark_unchanged();
            self.files.mark_unchanged();
            changes.mark_unchanged();
            self.reconcile();
            tokio::select! {
                () = changed(&mut self.specs) => {}
                () = changed(&mut self.files) => {}
                () = changed(&mut changes) => {}
                () = &mut boot, if !self.rebooted.is_empty() => self.rebooted.clear(),
            }
        }
    }

    /// Offers the resources that the node should have, and withdraws all others.
    fn reconcile(&mut self) {
        let agent_state = Rc::clone(&self.agent_state);
        // Before the first spec every network would look deleted.
        let Some(desired) = agent_state.publisher.read(|publisher| self.desired(publisher.published())) else {
            return;
        };
        let metrics = &agent_state.metrics;
        let count = |healthy| desired.values().filter(|it| it.is_healthy == healthy).map(|it| it.devices.len()).sum();
        metrics.devices([(HEALTHY, count(true)), (UNHEALTHY, count(false))]);
        self.offers.retain(|network, running| {
            let is_kept = desired.contains_key(network);
            if !is_kept {
                tracing::info!(%network, "no longer offering the network as a resource");
                running.task.abort();
            }
            is_kept
        });
        for (network, resource) in desired {
            match self.offers.get(&network) {
                Some(running) => update_resource(&network, &running.resource, resource),
                None => self.offer(network, resource),
            }
        }
    }

    /// The resources that the node should have; none before its first spec.
    fn desired(&mut self, published: &Files) -> Option<BTreeMap<NetworkName, Resource>> {
        self.rebooted.retain(|network| !matches!(published.get(network), Some(NetworkFile::Programmed(_))));
        let spec = self.specs.borrow();
        let networks = spec.as_ref()?.networks.iter().map(AsRef::as_ref);
        Some(resources(networks, published, &self.rebooted, &self.folders.in_use()))
    }

    fn offer(&mut self, network: NetworkName, resource: Resource) {
        self.watch_folders();
        tracing::info!(%network, devices = resource.devices.len(), healthy = resource.is_healthy, "offering the network as a resource");
        let (sender, receiver) = channel(resource);
        let offer = Offer::new(&self.kubelet_folder, network.clone(), receiver, self.folders.clone());
        let task = self.tasks.spawn(offer.run(self.changes.subscribe(), self.agent_state.metrics.clone()));
        self.offers.insert(network, Running { resource: sender, task });
    }

    /// Watches the folders, from the first resource on: a node may have no kubelet.
    fn watch_folders(&mut self) {
        if !std::mem::replace(&mut self.is_watching, true) {
            for folder in [self.kubelet_folder.clone(), self.folders.path()] {
                let changes = self.changes.clone();
                self.tasks.spawn(async move {
                    folder_watch::follow(folder, CREATED, changes).await;
                    pending().await
                });
            }
        }
    }
}

/// The networks that have no network file. While a network is on the node, only a reboot removes
/// its file.
fn without_file(spec: &NodeSpec, published: &Files) -> BTreeSet<NetworkName> {
    let names = spec.networks.iter().map(|network| &network.name);
    names.filter(|name| !published.contains_key(*name)).cloned().collect()
}

fn update_resource(network: &NetworkName, sender: &Sender<Resource>, resource: Resource) {
    sender.send_if_modified(|current| {
        let has_changed = *current != resource;
        if current.is_healthy != resource.is_healthy {
            tracing::info!(%network, healthy = resource.is_healthy, "the health of the devices has changed");
        }
        *current = resource;
        has_changed
    });
}

async fn changed<T>(source: &mut Receiver<T>) {
    if source.changed().await.is_err() {
        pending::<()>().await;
    }
}
