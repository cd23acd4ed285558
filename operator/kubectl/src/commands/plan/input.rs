//! A manifest of a network, with the objects that it changes. Pure.

use super::dry_run::Response;
use super::files::NetworkManifest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use usnet_crds::network::FINALIZER;
use usnet_crds::{CompiledNetworkSpec, UserspaceNetwork, UserspaceNetworkSpec};
use usnet_planner::model::attachment::Record;

/// A manifest of a network, with the objects that it changes.
#[derive(Debug)]
pub(super) struct Input {
    pub manifest: NetworkManifest,
    /// The present network; `None` if the network is new.
    pub existing: Option<UserspaceNetwork>,
    /// The present compiled network; `None` if it does not exist or cannot be read.
    pub compiled: Option<CompiledNetworkSpec>,
    /// The response of the API server; `None` if it is unknown.
    pub response: Option<Response>,
    /// The records of attachments, by node.
    pub records: BTreeMap<String, Vec<Record>>,
}

impl Input {
    /// Returns the present spec with all defaults; null if the network is new.
    pub(crate) fn old_spec(&self) -> Value {
        self.existing.as_ref().and_then(|existing| serde_json::to_value(&existing.spec).ok()).unwrap_or_default()
    }

    /// Returns why the API server rejects the manifest.
    pub(crate) fn rejected(&self) -> Option<&str> {
        match &self.response {
            Some(Response::Rejected(message)) => Some(message),
            _ => None,
        }
    }

    /// Returns the spec of the manifest with all defaults, or unchanged if it cannot be parsed.
    pub(crate) fn new_spec(&self) -> Value {
        let object = match &self.response {
            Some(Response::Accepted(object)) => object,
            _ => &self.manifest.object,
        };
        let spec = object.get("spec").cloned().unwrap_or_default();
        let parsed = serde_json::from_value::<UserspaceNetworkSpec>(spec.clone());
        parsed.ok().and_then(|parsed| serde_json::to_value(parsed).ok()).unwrap_or(spec)
    }

    /// Returns the network as it is after the manifest is applied and the controller has read it.
    pub(crate) fn applied(&self) -> Value {
        let existing = self.existing.as_ref().map(|existing| &existing.metadata);
        let generation = existing.and_then(|metadata| metadata.generation).unwrap_or_default();
        let is_changed = self.old_spec() != self.new_spec();
        let labels = self.manifest.object.pointer("/metadata/labels").cloned().unwrap_or(json!({}));
        let metadata = json!({
            "name": self.manifest.name,
            "uid": existing.and_then(|metadata| metadata.uid.clone()).unwrap_or_default(),
            "generation": generation + i64::from(is_changed),
            "creationTimestamp": existing.and_then(|metadata| metadata.creation_timestamp.clone()),
            "deletionTimestamp": existing.and_then(|metadata| metadata.deletion_timestamp.clone()),
            "labels": labels,
            "finalizers": [FINALIZER],
        });
        json!({"metadata": metadata, "spec": self.new_spec()})
    }
}
