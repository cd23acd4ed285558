//! Applies writes as the API server does.

use super::super::super::cache::nads::{Nad, NadKey};
use super::super::super::cache::parse;
use super::super::super::cache::{Labels, NodeState};
use super::super::super::write::DesiredNad;
use super::super::super::write::{FinalizerChange, Write};
use super::Cluster;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use usnet_crds::{CompiledNetworkSpec, Phase, UserspaceNodeSliceSpec};

/// A NAD in the API server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    pub(in super::super) uid: String,
    pub(in super::super) created: Option<Time>,
    pub(in super::super) config: String,
    pub(in super::super) label: Option<String>,
    pub(in super::super) owner: Option<String>,
    pub(in super::super) resource: Option<String>,
}

impl Object {
    pub(in super::super) fn of_user(config: &str) -> Self {
        Self { config: config.to_owned(), ..Self::default() }
    }
}

impl Cluster {
    pub(in super::super) fn put_nad(&mut self, key: NadKey, object: Object) {
        let (_, nad) = parse_nad(&key, &object);
        self.nads.insert(key.clone(), object);
        self.cache.nads.insert(key, nad);
    }

    pub(in super::super) fn remove_nad(&mut self, key: &NadKey) {
        self.nads.remove(key);
        self.cache.nads.remove(key);
    }

    /// Writes a compiled network, as the controller or a manual edit does.
    pub(in super::super) fn put_compiled(&mut self, name: &str, uid: &str, owner: &str, spec: &CompiledNetworkSpec) {
        let version = self.next_version();
        let owner = json!({"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": name, "uid": owner});
        let object = json!({"spec": spec, "metadata": {
            "name": name, "uid": uid, "resourceVersion": version.to_string(), "ownerReferences": [owner]}});
        let (_, compiled) = parse::compiled(&serde_json::from_str(&object.to_string()).unwrap());
        self.compiled.insert(name.to_owned(), spec.clone());
        self.cache.compiled.insert(name.to_owned(), compiled);
    }

    fn write_nad(&mut self, key: NadKey, desired: DesiredNad) {
        let label = Some(key.name.clone());
        let (config, owner, resource) = (desired.config, Some(desired.owner), desired.resource);
        let (uid, created) = (self.uid(), Some(self.time()));
        self.put_nad(key, Object { uid, created, config, label, owner, resource });
    }

    fn put_slice(&mut self, name: &str, uid: Option<String>, spec: UserspaceNodeSliceSpec) {
        assert_eq!(self.cache.slices.get(name).map(|found| &found.uid), uid.as_ref());
        let uid = uid.unwrap_or_else(|| self.uid());
        let object = json!({"metadata": {"name": name, "uid": uid}, "spec": spec});
        let (_, parsed) = parse::node_slice(&serde_json::from_str(&object.to_string()).unwrap());
        self.slices.insert(name.to_owned(), spec);
        self.cache.slices.insert(name.to_owned(), parsed);
    }

    fn put_node_state(&mut self, node: String, owner: String, number: u32, labels: Labels) {
        let (uid, now) = (self.uid(), self.time());
        let kept = self.cache.states.remove(&node);
        let kept = kept.unwrap_or_else(|| NodeState { uid, created: Some(now), ..NodeState::default() });
        let (generation, owner, number) = (kept.generation + 1, Some(owner), Some(number));
        let selected_generation = generation;
        self.cache.states.insert(node, NodeState { owner, generation, selected_generation, number, labels, ..kept });
    }

    fn set_finalizer(&mut self, network: &str, present: bool) {
        self.cache.networks.get_mut(network).unwrap().finalizer = present.then_some(0);
        if !present {
            self.cache.networks.remove(network);
        }
    }

    pub(super) fn apply(&mut self, write: Write) {
        match write {
            Write::Finalizer { network, change, .. } => self.set_finalizer(&network, change == FinalizerChange::Add),
            Write::Compiled { network, owner, uid, spec } => {
                assert_eq!(self.cache.compiled.get(&network).map(|found| &found.uid), uid.as_ref());
                let uid = uid.unwrap_or_else(|| self.uid());
                self.put_compiled(&network, &uid, &owner, &spec);
            }
            Write::DrainCompiled { network, uid } => {
                let found = self.cache.compiled[&network].clone();
                assert_eq!(found.uid, uid);
                let spec = CompiledNetworkSpec { phase: Phase::Draining, ..self.compiled[&network].clone() };
                self.put_compiled(&network, &uid, &found.owner.unwrap(), &spec);
            }
            Write::DeleteCompiled { network, uid } => {
                assert_eq!(self.cache.compiled.remove(&network).unwrap().uid, uid);
                self.compiled.remove(&network);
            }
            Write::NodeState { node, owner, uid, number, labels } => {
                assert_eq!(self.cache.states.get(&node).map(|found| &found.uid), uid.as_ref());
                self.put_node_state(node, owner, number, labels);
            }
            Write::Attachment(write) => self.apply_attachment(write),
            Write::ReservationStatus { name, status, .. } => self.set_reservation_status(&name, *status),
            Write::DeleteNodeState { node } => drop(self.cache.states.remove(&node)),
            Write::NodeSlice { slice, uid, spec } => self.put_slice(&slice, uid, *spec),
            Write::DeleteNodeSlice { slice, uid } => {
                assert_eq!(self.cache.slices.remove(&slice).unwrap().uid, uid);
                self.slices.remove(&slice);
            }
            Write::Status { network, status, .. } => {
                self.cache.networks.get_mut(&network).unwrap().status = Some(*status);
            }
            Write::UplinkFinalizer { uplink, change, .. } => {
                self.set_uplink_finalizer(&uplink, change == FinalizerChange::Add);
            }
            Write::UplinkStatus { uplink, status, .. } => {
                self.cache.uplinks.get_mut(&uplink).unwrap().status = Some(*status);
            }
            Write::Nad { key, desired } => self.write_nad(key, desired),
            Write::DeleteNad { key } => self.remove_nad(&key),
            Write::NetworkFromNad { network, spec, .. } => {
                self.network(&network, &serde_json::to_value(spec).unwrap());
                self.cache.networks.get_mut(&network).unwrap().has_from_nad_label = true;
            }
            Write::DeleteNetwork { network, uid } => {
                assert_eq!(self.cache.networks[&network].uid, uid);
                self.delete_network(&network);
            }
        }
    }
}

fn parse_nad(key: &NadKey, object: &Object) -> (NadKey, Nad) {
    let mut metadata = json!({
        "name": key.name, "namespace": key.namespace, "uid": object.uid, "creationTimestamp": object.created,
    });
    if let Some(label) = &object.label {
        metadata["labels"] = json!({"usnet.dev/network": label});
    }
    if let Some(resource) = &object.resource {
        metadata["annotations"] = json!({"k8s.v1.cni.cncf.io/resourceName": resource});
    }
    if let Some(owner) = &object.owner {
        metadata["ownerReferences"] = json!([
            {"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": key.name, "uid": owner}
        ]);
    }
    let object: Value = json!({"metadata": metadata, "spec": {"config": object.config}});
    parse::nad(&serde_json::from_str(&object.to_string()).unwrap())
}
