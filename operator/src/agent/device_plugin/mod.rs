//! Networks as resources of the node, which kubelet hands out: the scheduler then places a pod where the network is, and where there is room for it.
//!
//! [`resource`] says what there is, from what the node should have and what pods are told of it. Each resource is [offered](offer) to kubelet by a [`server`] of its own,
//! whose [`service`] hands out [folders](folder). Nothing here is asked when a pod attaches: the plugin finds its device in what kubelet keeps on disk.

pub mod api;
mod folder;
mod offer;
mod resource;
mod server;
mod service;

use super::folder_watch::{self, CREATED};
use super::shared::Shared;
use super::spec::NodeSpec;
use folder::DeviceFolders;
use offer::Offer;
use resource::{Resource, resources};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::{AbortHandle, JoinSet};
use usnet_crds::NetworkName;
use usnet_dataplane::paths::NodePaths;

/// All resources of the node.
#[derive(Debug)]
pub(super) struct DevicePlugin {
    shared: Rc<Shared>,
    specs: Receiver<Option<Arc<NodeSpec>>>,
    /// The network files, among others.
    files: Receiver<()>,
    kubelet_folder: PathBuf,
    folders: DeviceFolders,
    /// The folders of devices, and kubelet's.
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
        roots: &NodePaths,
        shared: Rc<Shared>,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        files: Receiver<()>,
    ) -> Self {
        Self {
            shared,
            specs,
            files,
            kubelet_folder: roots.kubelet_device_plugins(),
            folders: DeviceFolders::new(roots),
            changes: channel(()).0,
            offers: BTreeMap::new(),
            tasks: JoinSet::new(),
            is_watching: false,
        }
    }

    /// Works for ever.
    pub(super) async fn run(mut self) -> Infallible {
        let mut changes = self.changes.subscribe();
        loop {
            self.specs.mark_unchanged();
            self.files.mark_unchanged();
            changes.mark_unchanged();
            self.look();
            tokio::select! {
                () = changed(&mut self.specs) => {}
                () = changed(&mut self.files) => {}
                () = changed(&mut changes) => {}
            }
        }
    }

    /// Offers what there is now, and nothing else.
    fn look(&mut self) {
        // Before anybody told what the node should have, a resource would look as if its network were gone.
        let wanted = match self.specs.borrow().as_ref() {
            None => return,
            Some(spec) => {
                let networks = spec.networks.iter().map(AsRef::as_ref);
                resources(networks, self.shared.publisher.borrow().shown(), &self.folders.held())
            }
        };
        let metrics = &self.shared.metrics;
        let count = |healthy| wanted.values().filter(|it| it.is_healthy == healthy).map(|it| it.devices.len()).sum();
        metrics.devices(count(true), count(false));
        self.offers.retain(|network, running| {
            let stays = wanted.contains_key(network);
            if !stays {
                tracing::info!(%network, "the network is no resource any more");
                running.task.abort();
            }
            stays
        });
        for (network, resource) in wanted {
            match self.offers.get(&network) {
                Some(running) => tell(&network, &running.resource, resource),
                None => self.offer(network, resource),
            }
        }
    }

    fn offer(&mut self, network: NetworkName, resource: Resource) {
        self.watch_folders();
        tracing::info!(%network, devices = resource.devices.len(), healthy = resource.is_healthy, "the network is a resource");
        let (sender, receiver) = channel(resource);
        let offer = Offer::new(&self.kubelet_folder, network.clone(), receiver, self.folders.clone());
        let task = self.tasks.spawn(offer.stand(self.changes.subscribe(), self.shared.metrics.clone()));
        self.offers.insert(network, Running { resource: sender, task });
    }

    /// Not before there is a resource: a node may be without kubelet.
    fn watch_folders(&mut self) {
        if !std::mem::replace(&mut self.is_watching, true) {
            for folder in [self.kubelet_folder.clone(), self.folders.path().to_owned()] {
                let changes = self.changes.clone();
                self.tasks.spawn(async move {
                    folder_watch::follow(folder, CREATED, changes).await;
                    pending().await
                });
            }
        }
    }
}

fn tell(network: &NetworkName, sender: &Sender<Resource>, resource: Resource) {
    sender.send_if_modified(|told| {
        let is_news = *told != resource;
        if told.is_healthy != resource.is_healthy {
            tracing::info!(%network, healthy = resource.is_healthy, "whether pods may be given devices has changed");
        }
        *told = resource;
        is_news
    });
}

async fn changed<T>(source: &mut Receiver<T>) {
    if source.changed().await.is_err() {
        pending::<()>().await;
    }
}
