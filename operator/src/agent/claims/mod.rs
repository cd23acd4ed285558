//! Ports of networks for resource claims: a driver of Kubernetes' dynamic resource allocation.
//!
//! The networks with `spec.resourceClaims` are [offered](offered) to the scheduler in [`slices`].
//! For a pod that is about to start, kubelet calls the [`service`], which it finds by the
//! registration of the [`server`]. The [`preparer`] reads the [`claim`], [plans](plan) its record,
//! has its ports [attached](attacher), and writes the [`files`] from which the container runtime
//! ([`cdi`]) and the pod's program ([`metadata`]) know of them.

pub mod api;
mod attacher;
mod busy;
mod cdi;
mod claim;
mod container;
mod files;
mod metadata;
mod offered;
mod plan;
mod port_request;
mod preparer;
mod reader;
mod server;
mod service;
mod slices;

use super::model::spec::NodeSpec;
use super::reconcile::agent_state::AgentState;
use super::watch::folder_watch;
use crate::channels::send_if_changed;
use crate::display::ErrorChain;
use attacher::Plugin;
use busy::Busy;
use kube::Client;
use offered::{Offered, health, offered};
use plan::Networks;
use preparer::Preparer;
use reader::ApiServer;
use server::Sockets;
use service::Driver;
use std::convert::Infallible;
use std::fs::DirBuilder;
use std::future::pending;
use std::os::unix::fs::DirBuilderExt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use usnet_dataplane::claim_records::{ClaimRecord, ClaimRecords};
use usnet_dataplane::paths::NodePaths;

/// How often the files of prepared claims are checked, beside the events of the folder.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Between two attempts to serve.
const RETRY: Duration = Duration::from_secs(5);

/// What the agent hands over.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) paths: NodePaths,
    pub(super) agent_state: Rc<AgentState>,
    pub(super) specs: Receiver<Option<Arc<NodeSpec>>>,
    /// The network files, among others.
    pub(super) files: Receiver<()>,
}

/// What is derived of them for the tasks.
#[derive(Debug)]
struct Outputs {
    networks: Sender<Option<Arc<Networks>>>,
    offered: Sender<Vec<Offered>>,
    health: Sender<Vec<api::DeviceHealth>>,
}

/// Serves resource claims indefinitely.
pub(super) async fn run(client: Client, node: String, inputs: Inputs) -> Infallible {
    let (networks, networks_in_preparer) = channel(None);
    let (offered, offered_in_publisher) = channel(Vec::new());
    let (health, health_in_driver) = channel(Vec::new());
    let records = ClaimRecords::new(&inputs.paths);
    let preparer = Preparer {
        node: node.clone(),
        paths: inputs.paths.clone(),
        records: records.clone(),
        journal: inputs.agent_state.journal.clone(),
        networks: networks_in_preparer,
        claims: Arc::new(ApiServer::new(client.clone())),
        attacher: Arc::new(Plugin::new(inputs.paths.clone())),
        busy: Busy::default(),
    };
    let busy = preparer.busy.clone();
    let driver = Driver { preparer: Arc::new(preparer), health: health_in_driver };
    let (serving, outputs) = (offered.subscribe(), Outputs { networks, offered, health });
    let (paths, kept) = (inputs.paths.clone(), offered_in_publisher.clone());
    let (never, ..) = tokio::join!(
        derive(inputs, node.clone(), outputs),
        slices::publish(client, node, offered_in_publisher),
        serve(paths.clone(), records.clone(), serving, driver),
        keep_files(paths, records, busy, kept),
    );
    never
}

/// Follows the spec of the node and its network files.
async fn derive(mut inputs: Inputs, node: String, outputs: Outputs) -> Infallible {
    loop {
        let spec = inputs.specs.borrow_and_update().clone();
        inputs.files.mark_unchanged();
        if let Some(spec) = spec {
            let networks = spec.networks.iter().map(|network| (network.name.clone(), Arc::clone(network)));
            outputs.networks.send_replace(Some(Arc::new(networks.collect())));
            let now = {
                let publisher = inputs.agent_state.publisher.borrow();
                offered(spec.networks.iter().map(AsRef::as_ref), publisher.published())
            };
            let now_health = health(&now, &node);
            send_if_changed(&outputs.health, now_health);
            send_if_changed(&outputs.offered, now);
        }
        tokio::select! {
            changed = inputs.specs.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            changed = inputs.files.changed() => if changed.is_err() {
                pending::<()>().await;
            },
        }
    }
}

/// Serves kubelet while a network has resource claims, or one is still prepared.
async fn serve(
    paths: NodePaths,
    records: ClaimRecords,
    mut offered: Receiver<Vec<Offered>>,
    driver: Driver,
) -> Infallible {
    let sockets = Sockets::new(&paths);
    let mut is_failing = false;
    loop {
        while offered.borrow_and_update().is_empty() && records.is_empty() {
            if offered.changed().await.is_err() {
                pending::<()>().await;
            }
        }
        let unused = async {
            loop {
                // The record of a claim may be removed without another event.
                let _elapsed = timeout(CHECK_INTERVAL, offered.changed()).await;
                if offered.borrow_and_update().is_empty() && records.is_empty() {
                    return;
                }
            }
        };
        let ended = tokio::select! {
            served = server::serve(&sockets, driver.clone()) => served.map(|never| match never {}),
            () = unused => Ok(()),
        };
        match ended {
            Ok(()) => is_failing = false,
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(error = %ErrorChain(&error), "cannot serve resource claims; retrying");
                }
                sleep(RETRY).await;
            }
        }
    }
}

/// Writes the files of prepared claims again when they are missing, and after a restart of the
/// agent.
async fn keep_files(
    paths: NodePaths,
    records: ClaimRecords,
    busy: Busy,
    mut offered: Receiver<Vec<Offered>>,
) -> Infallible {
    while offered.borrow_and_update().is_empty() && records.is_empty() {
        if offered.changed().await.is_err() {
            pending::<()>().await;
        }
    }
    // Container runtimes that do not run as root read it too.
    let _exists = DirBuilder::new().recursive(true).mode(0o755).create(&paths.cdi);
    let (changes, mut changed) = channel(());
    let follow = folder_watch::follow(paths.cdi.clone(), folder_watch::RENAMED, changes);
    let restore = async {
        loop {
            changed.mark_unchanged();
            restore_files(&paths, &records, &busy);
            let _elapsed = timeout(CHECK_INTERVAL, changed.changed()).await;
        }
    };
    tokio::select! {
        () = follow => pending().await,
        never = restore => never,
    }
}

fn restore_files(paths: &NodePaths, records: &ClaimRecords, busy: &Busy) {
    let all = match records.all() {
        Ok((all, _unreadable)) => all,
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "cannot list the records of resource claims; retrying");
            return;
        }
    };
    for record in all.into_iter().filter(ClaimRecord::is_prepared) {
        // One that is being prepared or unprepared has its files written, or removed, there.
        let Some(_entered) = busy.enter(&record.uid) else { continue };
        // Unprepared since it was listed.
        if !matches!(records.read(&record.uid), Ok(Some(current)) if current == record) {
            continue;
        }
        let claim = format!("{}/{}", record.namespace, record.name);
        match files::restore(paths, &record) {
            Ok(false) => {}
            Ok(true) => tracing::info!(claim, "wrote the missing files of a resource claim again"),
            Err(error) => {
                tracing::warn!(claim, error = %ErrorChain(&error), "cannot write the files of a resource claim; retrying");
            }
        }
    }
}
