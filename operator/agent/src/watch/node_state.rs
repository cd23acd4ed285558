//! The `UserspaceNodeState` of this node: labels and generation go to the input, the stored status
//! to the status writer.

use super::collect::Collector;
use super::list_watch::{Event, Object};
use crate::attachments::Requested;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::cell::RefCell;
use tokio::sync::watch;
use usnet_common::channels::send_if_changed;
use usnet_crds::node_selection::resource_version;
use usnet_crds::{UserspaceNodeState, UserspaceNodeStateSpec, UserspaceNodeStateStatus};

/// The status as the API server stores it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredStatus {
    /// The number of complete lists so far. Only versions of one list and of the watch that
    /// continues it can be compared: after a restore of etcd the next list may be older.
    pub lists: u64,
    /// The resourceVersion of the object.
    pub version: u64,
    pub status: UserspaceNodeStateStatus,
}

/// The owners of the node state, among them its Node; none while there is no node state.
pub(crate) type Owners = Option<Vec<OwnerReference>>;

/// Follows the node state of this node.
pub(super) struct OwnState<'a> {
    collector: &'a RefCell<Collector>,
    statuses: watch::Sender<Option<StoredStatus>>,
    attachments: watch::Sender<Option<Requested>>,
    owners: watch::Sender<Owners>,
    lists: u64,
    /// Whether it is known if the object exists.
    is_known: bool,
}

impl<'a> OwnState<'a> {
    pub(super) fn new(
        collector: &'a RefCell<Collector>,
        statuses: watch::Sender<Option<StoredStatus>>,
        attachments: watch::Sender<Option<Requested>>,
        owners: watch::Sender<Owners>,
    ) -> Self {
        Self { collector, statuses, attachments, owners, lists: 0, is_known: false }
    }

    pub(super) fn on_event(&mut self, event: Event<UserspaceNodeState>) {
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
        send_if_changed(&self.owners, Some(object.metadata.owner_references.clone().unwrap_or_default()));
        match object.spec::<UserspaceNodeStateSpec>() {
            Ok(spec) => {
                let generation = object.metadata.generation.unwrap_or_default();
                let requested = Requested { generation, attachments: spec.attachments.clone() };
                self.attachments.send_if_modified(|before| replace(before, requested));
                self.collector.borrow_mut().node(generation, spec);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the UserspaceNodeState of this node; continuing with the last known state");
            }
        }
        // An unreadable status was written by another release, and is replaced.
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
        send_if_changed(&self.owners, None);
    }
}

fn replace(before: &mut Option<Requested>, now: Requested) -> bool {
    let is_same = before.as_ref() == Some(&now);
    *before = Some(now);
    !is_same
}
