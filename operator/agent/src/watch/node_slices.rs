//! The addresses of all nodes, from `UserspaceNodeSlice`s. They are watched only while a network on
//! this node may have an overlay.

use super::collect::Collector;
use super::list_watch::{Event, Object};
use crate::model::input::NodeAddresses;
use std::cell::RefCell;
use std::collections::BTreeMap;
use usnet_crds::node_slice::SliceNode;
use usnet_crds::{UserspaceNodeSlice, UserspaceNodeSliceSpec};

/// The nodes of all slices.
pub(super) struct NodeSlices<'a> {
    collector: &'a RefCell<Collector>,
    /// The name of this node.
    own: String,
    slices: BTreeMap<String, Vec<SliceNode>>,
    /// A list that is not complete yet.
    list: BTreeMap<String, Vec<SliceNode>>,
}

impl<'a> NodeSlices<'a> {
    pub(super) fn new(collector: &'a RefCell<Collector>, own: &str) -> Self {
        Self { collector, own: own.to_owned(), slices: BTreeMap::new(), list: BTreeMap::new() }
    }

    pub(super) fn on_event(&mut self, event: Event<UserspaceNodeSlice>) {
        match event {
            Event::Page { objects, is_first, complete } => {
                if is_first {
                    self.list.clear();
                }
                for object in objects {
                    let nodes = self.parse(&object);
                    self.list.insert(object.name().to_owned(), nodes);
                }
                if complete.is_none() {
                    return;
                }
                self.slices = std::mem::take(&mut self.list);
            }
            Event::Applied(object) => {
                let nodes = self.parse(&object);
                self.slices.insert(object.name().to_owned(), nodes);
            }
            Event::Deleted(object) => drop(self.slices.remove(object.name())),
            Event::Opened => return,
        }
        let nodes = self.slices.values().flatten().map(|node| (node.name.clone(), node.clone())).collect();
        self.collector.borrow_mut().nodes(Some(NodeAddresses { own: self.own.clone(), nodes }));
    }

    /// Returns the nodes of a slice. If it cannot be read, the nodes of its last readable version.
    fn parse(&self, object: &Object<UserspaceNodeSlice>) -> Vec<SliceNode> {
        match object.spec::<UserspaceNodeSliceSpec>() {
            Ok(spec) => spec.nodes,
            Err(error) => {
                tracing::warn!(slice = object.name(), %error, "cannot read a UserspaceNodeSlice; continuing with its last readable version");
                self.slices.get(object.name()).cloned().unwrap_or_default()
            }
        }
    }
}
