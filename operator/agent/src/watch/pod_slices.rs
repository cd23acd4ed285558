//! The `UserspacePodSlice`s of networks that the node has pods on. They are watched only while such
//! a network has policies.

use super::list_watch::{Event, Object};
use crate::model::policies::{PodSlices, SlicesOfNetworks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;
use usnet_crds::{NetworkName, UserspacePodSlice, UserspacePodSliceSpec};

/// Follows the slices. One that cannot be read has no pods: their ports are closed then.
pub(super) struct PodSliceList {
    updates: watch::Sender<PodSlices>,
    networks: BTreeSet<NetworkName>,
    known: BTreeMap<String, UserspacePodSliceSpec>,
    /// A list that is not complete yet.
    list: BTreeMap<String, UserspacePodSliceSpec>,
}

impl PodSliceList {
    pub(super) const fn new(updates: watch::Sender<PodSlices>, networks: BTreeSet<NetworkName>) -> Self {
        Self { updates, networks, known: BTreeMap::new(), list: BTreeMap::new() }
    }

    pub(super) fn on_event(&mut self, event: Event<UserspacePodSlice>) {
        match event {
            Event::Page { objects, is_first, complete } => {
                if is_first {
                    self.list.clear();
                }
                let read = objects.iter().filter_map(|object| Some((object.name().to_owned(), parse(object)?)));
                self.list.extend(read);
                if complete.is_none() {
                    return;
                }
                self.known = std::mem::take(&mut self.list);
            }
            Event::Applied(object) => match parse(&object) {
                Some(slice) => drop(self.known.insert(object.name().to_owned(), slice)),
                None => drop(self.known.remove(object.name())),
            },
            Event::Deleted(object) => drop(self.known.remove(object.name())),
            Event::Opened => return,
        }
        let slices = self.known.values().filter(|slice| self.networks.contains(&slice.network)).cloned().collect();
        self.updates.send_replace(Some(Arc::new(SlicesOfNetworks { networks: self.networks.clone(), slices })));
    }
}

/// An earlier version would have addresses that are other pods' by now.
fn parse(object: &Object<UserspacePodSlice>) -> Option<UserspacePodSliceSpec> {
    let read = object.spec();
    if let Err(error) = &read {
        tracing::warn!(slice = object.name(), %error, "cannot read a UserspacePodSlice; the ports of its pods are closed if a policy could select them");
    }
    read.ok()
}
