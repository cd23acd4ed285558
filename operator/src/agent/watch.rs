//! The API server as a source: follows all `CompiledNetwork`s and the one `UserspaceNodeState` of this node, indefinitely.

mod collect;

use super::api_backoff::{ApiServerBackoff, with_jitter};
use super::input::Input;
use super::list_watch::{Event, ListWatch, Object};
use crate::error_chain::ErrorChain;
use collect::Collector;
use kube::Client;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_crds::node_selection::resource_version;
use usnet_crds::{CompiledNetwork, UserspaceNodeState, UserspaceNodeStateSpec, UserspaceNodeStateStatus};

/// An error after so long a time without one counts as the first, even if nothing was received in
/// between.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The status as it is stored in the API server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredStatus {
    /// Counts the complete lists that returned it. Versions of one list and of the watch that
    /// continues it can be compared.
    pub lists: u64,
    /// The resourceVersion of the object.
    pub version: u64,
    /// The status; empty at first.
    pub status: UserspaceNodeStateStatus,
}

/// The channels to the subscribers.
#[derive(Debug)]
pub(super) struct Subscribers {
    /// To the builder of the node's spec.
    pub inputs: watch::Sender<Option<Input>>,
    /// To the writer of the status; none while there is no object.
    pub statuses: watch::Sender<Option<StoredStatus>>,
}

/// Follows the objects that concern `node`. An absent API server is waited for; a node state that
/// is deleted leaves the node as it is, because nothing says that its networks should be removed.
pub(super) async fn follow(client: Client, node: String, subscribers: Subscribers) {
    let collector = RefCell::new(Collector::new(subscribers.inputs));
    let networks = async {
        let mut list_watch = ListWatch::<CompiledNetwork>::new(client.clone(), None);
        follow_kind(&mut list_watch, "CompiledNetworks", |event| collector.borrow_mut().networks(event)).await;
    };
    let node_state = async {
        let mut own = OwnState { collector: &collector, statuses: subscribers.statuses, lists: 0, is_known: false };
        let mut list_watch =
            ListWatch::<UserspaceNodeState>::new(client.clone(), Some(format!("metadata.name={node}")));
        follow_kind(&mut list_watch, "UserspaceNodeState", |event| own.take(event)).await;
    };
    tokio::join!(networks, node_state);
}

async fn follow_kind<K>(list_watch: &mut ListWatch<K>, kind: &str, mut take: impl FnMut(Event<K>))
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
                    tracing::info!(kind, "the API server is back");
                }
                // An API server that accepts watches and then drops them is backed off from all the
                // same.
                if !matches!(event, Event::Opened) {
                    backoff.reset();
                }
                take(event);
            }
            Err(error) => {
                if started.elapsed() > STABLE_AFTER {
                    backoff.reset();
                }
                let error_chain = ErrorChain(&error);
                if backoff.is_active() {
                    tracing::debug!(kind, error = %error_chain, "the API server still cannot be watched");
                } else {
                    tracing::warn!(kind, error = %error_chain, "the API server cannot be watched; working from what is known");
                    is_disconnected = true;
                }
                sleep(backoff.next(error.is_answer()).max(with_jitter(error.retry_after()))).await;
            }
        }
    }
}

/// The node state of this node.
struct OwnState<'a> {
    collector: &'a RefCell<Collector>,
    statuses: watch::Sender<Option<StoredStatus>>,
    lists: u64,
    /// Whether the existence of the object is known.
    is_known: bool,
}

impl OwnState<'_> {
    fn take(&mut self, event: Event<UserspaceNodeState>) {
        match event {
            Event::Page { objects, complete, .. } => {
                self.lists += u64::from(complete.is_some());
                match objects.into_iter().next() {
                    Some(object) => self.apply(&object),
                    None if complete.is_some() => self.on_missing(),
                    None => {}
                }
            }
            Event::Applied(object) => self.apply(&object),
            Event::Deleted(_) => self.on_missing(),
            Event::Opened => {}
        }
    }

    fn apply(&mut self, object: &Object<UserspaceNodeState>) {
        self.is_known = true;
        match object.spec::<UserspaceNodeStateSpec>() {
            Ok(spec) => {
                self.collector.borrow_mut().node(object.metadata.generation.unwrap_or_default(), spec.labels);
            }
            Err(error) => {
                tracing::warn!(%error, "the UserspaceNodeState of this node cannot be read; working from what is known");
            }
        }
        // A status of another release is replaced.
        let status = object.status::<UserspaceNodeStateStatus>().ok().flatten().unwrap_or_default();
        let version = resource_version(object.metadata.resource_version.as_deref());
        self.statuses.send_replace(Some(StoredStatus { lists: self.lists, version, status }));
    }

    fn on_missing(&mut self) {
        let is_transition = !std::mem::replace(&mut self.is_known, true) || self.statuses.borrow().is_some();
        if is_transition {
            tracing::info!("there is no UserspaceNodeState for this node; waiting for the controller to create it");
        }
        self.statuses.send_replace(None);
    }
}

#[cfg(test)]
mod tests;
