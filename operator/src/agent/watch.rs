//! The API server as a source: follows all `CompiledNetwork`s and the one `UserspaceNodeState` of this node, indefinitely.

mod collect;

use super::input::Input;
use super::list_watch::{Event, ListWatch, Object};
use super::waits::{Waits, with_jitter};
use crate::error_chain::ErrorChain;
use collect::Collector;
use kube::Client;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_crds::node_selection::resource_version;
use usnet_crds::{CompiledNetwork, UserspaceNodeState, UserspaceNodeStateSpec, UserspaceNodeStateStatus};

/// An error after so long a time without one is the first of its kind, even if nothing happened in between.
const WAS_WELL: Duration = Duration::from_secs(60);

/// The status that is in the API server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Present {
    /// Counts the complete lists that it was found by. Versions of one list and of what follows it can be compared.
    pub lists: u64,
    /// The resourceVersion of the object.
    pub version: u64,
    /// The status; empty at first.
    pub status: UserspaceNodeStateStatus,
}

/// Where it goes.
#[derive(Debug)]
pub(super) struct Subscribers {
    /// To who builds the spec of the node.
    pub inputs: watch::Sender<Option<Input>>,
    /// To the writer of the status; none while there is no object.
    pub statuses: watch::Sender<Option<Present>>,
}

/// Follows the objects that concern `node`. An absent API server is waited for; a node state that is deleted leaves the node as it is, because nothing says
/// that its networks should go.
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
    let mut waits = Waits::default();
    let mut is_away = false;
    loop {
        let started = Instant::now();
        match list_watch.next().await {
            Ok(event) => {
                if std::mem::take(&mut is_away) {
                    tracing::info!(kind, "the API server is back");
                }
                // One that opens watches and does not keep them is left in peace all the same.
                if !matches!(event, Event::Opened) {
                    waits.end();
                }
                take(event);
            }
            Err(error) => {
                if started.elapsed() > WAS_WELL {
                    waits.end();
                }
                let error_chain = ErrorChain(&error);
                if waits.have_begun() {
                    tracing::debug!(kind, error = %error_chain, "the API server still cannot be watched");
                } else {
                    tracing::warn!(kind, error = %error_chain, "the API server cannot be watched; working from what is known");
                    is_away = true;
                }
                sleep(waits.next(error.is_answer()).max(with_jitter(error.retry_after()))).await;
            }
        }
    }
}

/// The node state of this node.
struct OwnState<'a> {
    collector: &'a RefCell<Collector>,
    statuses: watch::Sender<Option<Present>>,
    lists: u64,
    /// Whether it is known if there is an object.
    is_known: bool,
}

impl OwnState<'_> {
    fn take(&mut self, event: Event<UserspaceNodeState>) {
        match event {
            Event::Page { objects, complete, .. } => {
                self.lists += u64::from(complete.is_some());
                match objects.into_iter().next() {
                    Some(object) => self.apply(&object),
                    None if complete.is_some() => self.lose(),
                    None => {}
                }
            }
            Event::Applied(object) => self.apply(&object),
            Event::Deleted(_) => self.lose(),
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
        // What is not a status of this release is replaced.
        let status = object.status::<UserspaceNodeStateStatus>().ok().flatten().unwrap_or_default();
        let version = resource_version(object.metadata.resource_version.as_deref());
        self.statuses.send_replace(Some(Present { lists: self.lists, version, status }));
    }

    fn lose(&mut self) {
        let is_news = !std::mem::replace(&mut self.is_known, true) || self.statuses.borrow().is_some();
        if is_news {
            tracing::info!("there is no UserspaceNodeState for this node; waiting for the controller to create it");
        }
        self.statuses.send_replace(None);
    }
}

#[cfg(test)]
mod tests;
