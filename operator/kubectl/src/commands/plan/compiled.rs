//! Compiles the networks of all manifests together, as the controller does. Pure.

use super::input::Input;
use crate::model::Snapshot;
use serde_json::json;
use std::collections::BTreeMap;
use usnet_controller::cache::attachments::ObjectName;
use usnet_controller::cache::objects::Selection;
use usnet_controller::cache::overlays::Overlays;
use usnet_controller::cache::parse;
use usnet_controller::cache::reservations::{Decision, Verdict};
use usnet_controller::cache::uplink_use::UplinkUse;
use usnet_controller::cache::{Cache, Network};
use usnet_controller::compile::Stage;
use usnet_controller::compile::network::write;
use usnet_controller::write::Write;
use usnet_crds::{CompiledNetworkSpec, FixedAttachment};

/// The outcome for a network.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Nodes get this compiled network.
    Compiled(Box<CompiledNetworkSpec>),
    /// Nodes keep the present compiled network.
    Unchanged,
    /// The controller rejects the network, and nodes keep the present compiled network.
    Rejected {
        /// The reason of its condition.
        reason: String,
        /// The message of its condition.
        message: String,
    },
}

/// Returns the cluster as it is after all manifests are applied, and the outcome for each network.
pub(super) fn apply(snapshot: &Snapshot, inputs: &[Input]) -> (Cache, BTreeMap<String, Outcome>) {
    let mut cache = snapshot.cache.clone();
    for input in inputs {
        // A manifest that the API server rejects does not change the network.
        if input.rejected().is_none()
            && let Some(network) = parsed(input)
        {
            let reserved = reserved(snapshot, &input.manifest.name, &network);
            cache.reservations.decided.insert(input.manifest.name.clone(), reserved);
            cache.networks.insert(input.manifest.name.clone(), network);
        }
    }
    cache.overlays = Overlays::of(&cache.networks, &cache.compiled, &cache.uplinks, &cache.nodes);
    cache.uplink_use = UplinkUse::of(&cache.networks, &cache.compiled, &cache.uplinks);
    let outcomes = inputs.iter().map(|input| (input.manifest.name.clone(), outcome(&cache, input))).collect();
    (cache, outcomes)
}

fn parsed(input: &Input) -> Option<Network> {
    // From text, because parts of the object are kept as raw JSON.
    let object = serde_json::from_str(&input.applied().to_string()).ok()?;
    Some(parse::network(&object).1)
}

/// What reservations fix now, as it is compiled, as far as the network still allows any. Its own
/// `attachments` come first.
fn reserved(snapshot: &Snapshot, name: &str, new: &Network) -> Decision {
    let attachments = |network: &Network| network.spec.as_ref().map(|it| it.attachments.clone()).unwrap_or_default();
    let present = snapshot.cache.networks.get(name).map(attachments).unwrap_or_default();
    let own = attachments(new);
    let allows = new.spec.as_ref().is_ok_and(|valid| valid.reservations.is_some());
    let compiled = snapshot.cache.compiled.get(name).filter(|_| allows).into_iter().flat_map(|it| &it.attachments);
    let is_own = |fixed: &FixedAttachment| {
        own.iter().any(|it| it.namespace == fixed.namespace && it.pod.overlaps(&fixed.pod)) || present.contains(fixed)
    };
    let verdict = |fixed: &FixedAttachment| {
        let name = ObjectName { namespace: fixed.namespace.to_string(), name: fixed.pod.to_string() };
        (name, Verdict::Fixed(fixed.clone()))
    };
    compiled.filter(|fixed| !is_own(fixed)).map(verdict).collect()
}

fn outcome(cache: &Cache, input: &Input) -> Outcome {
    let name = input.manifest.name.as_str();
    let rejected =
        |reason: &str, message: &str| Outcome::Rejected { reason: reason.to_owned(), message: message.to_owned() };
    if let Some(message) = input.rejected() {
        return rejected("RejectedByApiServer", message);
    }
    let Some(network) = cache.networks.get(name) else { return rejected("Invalid", "the object cannot be read") };
    if let Stage::Rejected { reason, message, .. } = Stage::of(cache, name, network) {
        return rejected(reason, message);
    }
    match write(cache, name) {
        Some(Write::Compiled { spec, .. }) => Outcome::Compiled(spec),
        _ => Outcome::Unchanged,
    }
}

pub(super) fn selection(spec: &CompiledNetworkSpec) -> Option<Selection> {
    let object = json!({"metadata": {"name": "x"}, "spec": spec}).to_string();
    parse::compiled(&serde_json::from_str(&object).ok()?).1.selection
}
