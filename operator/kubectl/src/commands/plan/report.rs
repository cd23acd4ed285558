//! The report of what manifests would change. Pure.

use super::compiled::{Outcome, apply};
use super::fields::{FieldChange, changes as field_changes};
use super::input::Input;
use super::nodes::{self, Effect, NodeChange};
use crate::model::{Snapshot, Unread};
use serde::Serialize;
use std::collections::BTreeMap;
use usnet_controller::cache::{Cache, Network};
use usnet_crds::{CompiledNetworkSpec, NamespaceName, PodNames, Vlan};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub networks: Vec<NetworkChange>,
    /// Objects that do not change nodes by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkChange {
    pub name: String,
    pub is_new: bool,
    /// The reason and message of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    pub fields: Vec<FieldChange>,
    pub nodes: Vec<NodeChange>,
    /// The namespaces in which a NetworkAttachmentDefinition would be created.
    pub definitions_added: Vec<String>,
    /// The namespaces in which a NetworkAttachmentDefinition would be deleted.
    pub definitions_removed: Vec<String>,
    /// The changed settings that running pods do not get.
    pub for_new_pods: Vec<String>,
    /// The effects on traffic, for users.
    pub traffic: Vec<String>,
}

impl Report {
    pub(crate) fn is_rejected(&self) -> bool {
        self.networks.iter().any(|network| network.rejected.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.networks.iter().all(NetworkChange::is_empty)
    }
}

impl NetworkChange {
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_new && self.fields.is_empty() && self.nodes.is_empty()
    }
}

/// The settings that running pods keep until they end.
const FOR_NEW_PODS: [&str; 10] = [
    "spec.port.type",
    "spec.port.queues",
    "spec.port.ringSize",
    "spec.port.volume",
    "spec.port.memif",
    "spec.port.vhostUser",
    "spec.port.veth.datapath",
    "spec.ipam",
    "spec.devicePlugin",
    "spec.bridge.mtu",
];

pub(super) fn report(snapshot: &Snapshot, inputs: &[Input], ignored: Vec<String>) -> Report {
    let (cache, outcomes) = apply(snapshot, inputs);
    let change = |input: &Input| {
        let outcome = outcomes.get(&input.manifest.name);
        network(snapshot, &cache, input, outcome.unwrap_or(&Outcome::Unchanged))
    };
    Report { networks: inputs.iter().map(change).collect(), ignored, not_read: snapshot.unread.clone() }
}

fn network(snapshot: &Snapshot, cache: &Cache, input: &Input, outcome: &Outcome) -> NetworkChange {
    let fields = field_changes("spec", &input.old_spec(), &input.new_spec());
    let mut change = NetworkChange {
        name: input.manifest.name.clone(),
        is_new: input.existing.is_none(),
        fields,
        ..NetworkChange::default()
    };
    let compiled = match outcome {
        Outcome::Rejected { reason, message } => {
            change.rejected = Some(format!("{reason}: {message}"));
            return change;
        }
        Outcome::Unchanged => return change,
        Outcome::Compiled(compiled) => compiled,
    };
    change.nodes = nodes::changes(snapshot, cache, input, compiled);
    let is_for_new = |field: &&FieldChange| FOR_NEW_PODS.iter().any(|prefix| field.field.starts_with(prefix));
    if !change.is_new {
        change.for_new_pods = change.fields.iter().filter(is_for_new).map(|field| field.field.clone()).collect();
    }
    definitions(snapshot, cache, &mut change);
    change.traffic = traffic(input.compiled.as_ref(), compiled, &change);
    change
}

/// Finds the namespaces in which definitions would be created or deleted.
fn definitions(snapshot: &Snapshot, cache: &Cache, change: &mut NetworkChange) {
    let needs = |network: Option<&Network>, name: &str| {
        let needed = network.and_then(|network| {
            let valid = network.spec.as_ref().ok()?;
            cache.namespaces.get(name).map(|namespace| network.needs_nad(valid, name, namespace))
        });
        needed == Some(true)
    };
    for namespace in cache.namespaces.keys() {
        let before = needs(snapshot.cache.networks.get(&change.name), namespace);
        match (before, needs(cache.networks.get(&change.name), namespace)) {
            (false, true) => change.definitions_added.push(namespace.clone()),
            (true, false) => change.definitions_removed.push(namespace.clone()),
            _ => {}
        }
    }
}

/// Describes the effects on the traffic of running pods.
fn traffic(old: Option<&CompiledNetworkSpec>, new: &CompiledNetworkSpec, change: &NetworkChange) -> Vec<String> {
    let mut effects = Vec::new();
    let pods = |effect: Effect| {
        change.nodes.iter().filter(|node| node.effect == effect).map(|node| node.attachments).sum::<i64>()
    };
    let (changed, draining) = (pods(Effect::Changed), pods(Effect::Drains));
    if draining > 0 {
        effects.push(format!(
            "{draining} attached interfaces keep the network until their pods end; then their nodes remove it"
        ));
    }
    let Some(old) = old.filter(|_| changed > 0) else { return effects };
    if old.port.vlan != new.port.vlan || fixed_vlans(old) != fixed_vlans(new) {
        effects.push("VLANs change under traffic: until all nodes have the change, pods on nodes with it and pods on nodes without it do not reach each other".to_owned());
    }
    if old.bridge.mtu != new.bridge.mtu {
        effects.push(
            "MTUs of ports change in place; programs see the new MTU only when their pods are created again".to_owned(),
        );
    }
    if (&old.overlay, &old.uplink) != (&new.overlay, &new.uplink) {
        effects.push(
            "the connection between nodes changes: traffic between them is interrupted until both have the change"
                .to_owned(),
        );
    }
    if old.gateway != new.gateway {
        effects.push("the gateway changes: traffic through it is interrupted".to_owned());
    }
    effects
}

/// Returns the pods whose VLAN is fixed by `spec.attachments`.
fn fixed_vlans(network: &CompiledNetworkSpec) -> BTreeMap<(&NamespaceName, &PodNames), &Vlan> {
    let fixed = network.attachments.iter();
    fixed.filter_map(|pod| Some(((&pod.namespace, &pod.pod), pod.vlan.as_ref()?))).collect()
}
