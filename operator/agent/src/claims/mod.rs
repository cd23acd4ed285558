//! Ports of networks for resource claims: a driver of Kubernetes' dynamic resource allocation.
//!
//! The networks with `spec.resourceClaims` are [offered](mod@offered) to the scheduler in
//! [`slices`].
//! For a pod that is about to start, kubelet calls the [`service`], which it finds by the
//! [`registration`] of the [`server`]. The [`preparer`] reads the [`claim`], [plans](plan) its
//! record, attaches its ports with the [`attacher`], and writes the [`files`] that tell the
//! container runtime ([`cdi`]) and the pod's program ([`metadata`]) about them. The [`keeper`]
//! restores missing files, and adds what the plugin attached with the [`sandbox`]. The [`reporter`]
//! writes the status of claims.

pub mod api;
mod attacher;
mod busy;
mod cdi;
mod claim;
mod container;
mod files;
mod keeper;
mod metadata;
mod names;
mod offered;
mod plan;
mod port_request;
mod preparer;
mod reader;
mod registration;
mod reporter;
mod sandbox;
mod server;
mod service;
mod slices;

use super::model::spec::NodeSpec;
use super::reconcile::agent_state::AgentState;
use super::watch::Owners;
use attacher::Plugin;
use busy::Busy;
use keeper::Keeper;
use kube::Client;
use offered::{Offered, health, offered};
use plan::Networks;
use preparer::Preparer;
use reader::{ApiServer, Claims};
use registration::Registration;
use reporter::Reporter;
use server::Sockets;
use service::Driver;
use std::convert::Infallible;
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use usnet_common::api::client;
use usnet_common::channels::send_if_changed;
use usnet_common::display::ErrorChain;
use usnet_dataplane::claim_records::ClaimRecords;
use usnet_dataplane::paths::NodePaths;

/// How often records and files of prepared claims are checked, beside the events of their folders.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Delay between two attempts to serve.
const RETRY: Duration = Duration::from_secs(5);

/// What the agent passes to this module.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) paths: NodePaths,
    pub(super) agent_state: Rc<AgentState>,
    pub(super) specs: Receiver<Option<Arc<NodeSpec>>>,
    /// Changes of the network files, and of other things.
    pub(super) files: Receiver<()>,
    /// Changes of the attachment records, and of other things.
    pub(super) attachments: Receiver<()>,
    /// The owners of the node state.
    pub(super) owners: Receiver<Owners>,
}

/// What [`derive()`] computes from the inputs for the tasks.
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
    let (reports, unreported) = channel(());
    let records = ClaimRecords::new(&inputs.paths);
    let claims: Arc<dyn Claims> = Arc::new(ApiServer::new(client.clone()));
    let preparer = Preparer {
        node: node.clone(),
        paths: inputs.paths.clone(),
        records: records.clone(),
        journal: inputs.agent_state.journal.clone(),
        networks: networks_in_preparer,
        claims: Arc::clone(&claims),
        attacher: Arc::new(Plugin::new(inputs.paths.clone())),
        busy: Busy::default(),
        reports: reports.clone(),
    };
    let keeper = Keeper {
        paths: inputs.paths.clone(),
        records: records.clone(),
        journal: inputs.agent_state.journal.clone(),
        busy: preparer.busy.clone(),
        reports,
    };
    let reporter = Reporter { records: records.clone(), busy: preparer.busy.clone(), claims };
    let driver = Driver { preparer: Arc::new(preparer), health: health_in_driver };
    let (registration, registration_in_publisher) = channel(Registration::default());
    let published = slices::Inputs {
        networks: networks.subscribe(),
        offered: offered_in_publisher.clone(),
        owners: inputs.owners.clone(),
        registration: registration_in_publisher,
    };
    let (serving, outputs) = (offered.subscribe(), Outputs { networks, offered, health });
    let (paths, attachments, kept) = (inputs.paths.clone(), inputs.attachments.clone(), offered_in_publisher);
    let (never, ..) = tokio::join!(
        derive(inputs, node.clone(), outputs),
        slices::publish(client, node, published),
        Server { sockets: Sockets::new(&paths), records, driver, registration }.run(serving),
        keeper.run(attachments, kept),
        reporter.run(unreported),
    );
    never
}

/// Removes the node's devices from the API server when the agent ends, before kubelet notices.
pub(super) async fn withdraw(paths: &NodePaths, node: &str) {
    // Without the folder there never were any.
    if Sockets::new(paths).has_folder()
        && let Ok(client) = client::client().await
    {
        slices::withdraw(client, node).await;
    }
}

/// Computes the outputs whenever the spec of the node or a network file changes.
async fn derive(mut inputs: Inputs, node: String, outputs: Outputs) -> Infallible {
    loop {
        let spec = inputs.specs.borrow_and_update().clone();
        inputs.files.mark_unchanged();
        if let Some(spec) = spec {
            let networks = spec.networks.iter().map(|network| (network.name.clone(), Arc::clone(network)));
            outputs.networks.send_replace(Some(Arc::new(networks.collect())));
            let now = inputs
                .agent_state
                .publisher
                .read(|publisher| offered(spec.networks.iter().map(AsRef::as_ref), publisher.published()));
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

/// Serves kubelet.
struct Server {
    sockets: Sockets,
    records: ClaimRecords,
    driver: Driver,
    registration: Sender<Registration>,
}

impl Server {
    /// Serves indefinitely where kubelet's folder of registrations is there, so that kubelet has
    /// the driver before the first network has resource claims. Elsewhere it tries while one has,
    /// or a claim is still prepared, and logs what is missing.
    async fn run(self, mut offered: Receiver<Vec<Offered>>) -> Infallible {
        let mut is_failing = false;
        loop {
            while !self.is_needed(&mut offered) {
                if offered.changed().await.is_err() {
                    pending::<()>().await;
                }
            }
            let served = tokio::select! {
                served = server::serve(&self.sockets, self.driver.clone(), &self.registration) => served,
                () = self.until_unused(&mut offered) => Ok(()),
            };
            self.registration.send_modify(Registration::ended);
            match served {
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

    async fn until_unused(&self, offered: &mut Receiver<Vec<Offered>>) {
        while self.is_needed(offered) {
            // The removal of a claim's record sends no event.
            let _elapsed = timeout(CHECK_INTERVAL, offered.changed()).await;
        }
    }

    fn is_needed(&self, offered: &mut Receiver<Vec<Offered>>) -> bool {
        !offered.borrow_and_update().is_empty() || !self.records.is_empty() || self.sockets.has_folder()
    }
}
