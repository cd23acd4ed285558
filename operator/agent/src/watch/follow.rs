//! Follows the objects of the API server that concern the node (IO): all `CompiledNetwork`s and
//! `UserspaceUplink`s, its own `UserspaceNodeState`, while there is an overlay all
//! `UserspaceNodeSlice`s, and while a network has policies all `CompiledPolicy`s and the
//! `UserspacePodSlice`s of those that the node has pods on.

use super::api_backoff::{ApiServerBackoff, with_jitter};
use super::collect::Collector;
use super::list_watch::{Event, ListWatch, Object};
use super::node_slices::NodeSlices;
use super::node_state::{OwnState, Owners, StoredStatus};
use super::pod_slices::PodSliceList;
use super::policies::CompiledPolicyList;
use super::uplinks::Uplinks;
use crate::attachments::Requested;
use crate::model::input::Input;
use crate::model::policies::{CompiledPolicies, PodSlices};
use kube::Client;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::nad::NETWORK_LABEL;
use usnet_crds::{
    CompiledNetwork, CompiledPolicy, NetworkName, UserspaceNodeSlice, UserspaceNodeState, UserspacePodSlice,
    UserspaceUplink,
};

/// After this time without an error the back-off starts again, even if nothing was received: the
/// delays of a quiet watch that breaks once a minute must not grow.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The channels to the subscribers.
#[derive(Debug)]
pub(crate) struct Subscribers {
    /// The input, for the builder of the node's spec.
    pub inputs: watch::Sender<Option<Input>>,
    /// The stored status, for its writer; none while there is no object.
    pub statuses: watch::Sender<Option<StoredStatus>>,
    /// The requested attachments; none before they are known.
    pub attachments: watch::Sender<Option<Requested>>,
    /// The owners of the node state, for the ResourceSlices of the node.
    pub owners: watch::Sender<Owners>,
    pub policies: PolicyChannels,
}

/// The channels of policies.
#[derive(Debug)]
pub(crate) struct PolicyChannels {
    /// Whether a network of the node has policies.
    pub needed: watch::Receiver<bool>,
    pub updates: watch::Sender<CompiledPolicies>,
    pub pods: PodSliceChannels,
}

/// The channels of the pods that policies select.
#[derive(Debug)]
pub(crate) struct PodSliceChannels {
    /// The networks with policies that the node has pods on.
    pub networks: watch::Receiver<BTreeSet<NetworkName>>,
    pub updates: watch::Sender<PodSlices>,
}

/// Follows the objects that concern `node`, indefinitely. It waits for an absent API server. A
/// deleted node state leaves the node as it is, because nothing says that its networks should be
/// removed.
pub(crate) async fn follow(client: Client, node: String, subscribers: Subscribers) {
    let collector = RefCell::new(Collector::new(subscribers.inputs));
    let networks = async {
        let mut list_watch = ListWatch::<CompiledNetwork>::new(client.clone(), None);
        follow_kind(&mut list_watch, "CompiledNetworks", |event| collector.borrow_mut().networks(event)).await;
    };
    let node_state = async {
        let mut own = OwnState::new(&collector, subscribers.statuses, subscribers.attachments, subscribers.owners);
        let mut list_watch =
            ListWatch::<UserspaceNodeState>::new(client.clone(), Some(format!("metadata.name={node}")));
        follow_kind(&mut list_watch, "UserspaceNodeState", |event| own.on_event(event)).await;
    };
    let uplinks = async {
        let mut uplinks = Uplinks::new(&collector);
        let mut list_watch = ListWatch::<UserspaceUplink>::new(client.clone(), None);
        follow_kind(&mut list_watch, "UserspaceUplinks", |event| uplinks.on_event(event)).await;
    };
    let slices = follow_slices(&client, &node, &collector);
    let PolicyChannels { needed, updates, pods } = subscribers.policies;
    let policies = follow_policies(&client, needed, updates);
    tokio::join!(networks, uplinks, node_state, slices, policies, follow_pod_slices(&client, pods));
}

/// Follows the node slices while they are needed, so that they cost the API server nothing
/// otherwise.
async fn follow_slices(client: &Client, node: &str, collector: &RefCell<Collector>) {
    let mut needed = collector.borrow().needs_nodes();
    // The sender is in the collector, which outlives this loop.
    while needed.wait_for(|needed| *needed).await.is_ok() {
        let mut slices = NodeSlices::new(collector, node);
        let mut list_watch = ListWatch::<UserspaceNodeSlice>::new(client.clone(), None);
        let following = follow_kind(&mut list_watch, "UserspaceNodeSlices", |event| slices.on_event(event));
        tokio::select! {
            () = following => {}
            // Also if they are needed again by now: what was known was forgotten meanwhile.
            _ = needed.changed() => {}
        }
        collector.borrow_mut().nodes(None);
    }
}

/// Follows the policies while they are needed.
async fn follow_policies(client: &Client, mut needed: watch::Receiver<bool>, updates: watch::Sender<CompiledPolicies>) {
    while needed.wait_for(|needed| *needed).await.is_ok() {
        let mut policies = CompiledPolicyList::new(updates.clone());
        let mut list_watch = ListWatch::<CompiledPolicy>::new(client.clone(), None);
        let following = follow_kind(&mut list_watch, "CompiledPolicies", |event| policies.on_event(event));
        tokio::select! {
            () = following => {}
            // Also if they are needed again by now: what was known was forgotten meanwhile.
            _ = needed.changed() => {}
        }
    }
}

/// Follows the slices of the networks that the node has pods on. Nodes that follow those of all
/// networks would get as many events as there are pods in the cluster.
async fn follow_pod_slices(client: &Client, PodSliceChannels { mut networks, updates }: PodSliceChannels) {
    loop {
        let names = networks.borrow_and_update().clone();
        let follow = async {
            if names.is_empty() {
                return;
            }
            let mut slices = PodSliceList::new(updates.clone(), names.clone());
            let mut list_watch = ListWatch::<UserspacePodSlice>::labelled(client.clone(), selector(&names));
            follow_kind(&mut list_watch, "UserspacePodSlices", |event| slices.on_event(event)).await;
        };
        let changed = async { networks.wait_for(|now| *now != names).await.is_ok() };
        tokio::select! {
            is_alive = changed => if !is_alive { return },
            () = async { follow.await; std::future::pending().await } => {}
        }
    }
}

/// Selects objects that are labelled with any of these networks.
fn selector(networks: &BTreeSet<NetworkName>) -> String {
    let names: Vec<&str> = networks.iter().map(NetworkName::as_str).collect();
    format!("{NETWORK_LABEL} in ({})", names.join(","))
}

async fn follow_kind<K>(list_watch: &mut ListWatch<K>, kind: &str, mut on_event: impl FnMut(Event<K>))
where
    Object<K>:
        kube::Resource<DynamicType = ()> + serde::de::DeserializeOwned + Clone + std::fmt::Debug + Send + 'static,
{
    let mut backoff = ApiServerBackoff::default();
    let mut is_disconnected = false;
    loop {
        let started = Instant::now();
        match list_watch.next().await {
            Ok(event) => {
                if std::mem::take(&mut is_disconnected) {
                    tracing::info!(kind, "watching the API server again");
                }
                // The back-off continues for an API server that accepts watches and then drops
                // them.
                if !matches!(event, Event::Opened) {
                    backoff.reset();
                }
                on_event(event);
            }
            Err(error) => {
                if started.elapsed() > STABLE_AFTER {
                    backoff.reset();
                }
                let error_chain = ErrorChain(&error);
                if backoff.is_active() {
                    tracing::debug!(kind, error = %error_chain, "still cannot watch the API server");
                } else {
                    tracing::warn!(kind, error = %error_chain, "cannot watch the API server; continuing with the last known state");
                    is_disconnected = true;
                }
                sleep(backoff.next(error.is_answer()).max(with_jitter(error.retry_after()))).await;
            }
        }
    }
}
