//! The networks of all manifests as the controller compiles them together. Pure.

use super::input::Input;
use crate::controller::cache::objects::Selection;
use crate::controller::cache::overlays::Overlays;
use crate::controller::cache::parse;
use crate::controller::cache::uplink_use::UplinkUse;
use crate::controller::cache::{Cache, Network};
use crate::controller::compile::Stage;
use crate::controller::compile::network::write;
use crate::controller::write::Write;
use crate::kubectl::model::Snapshot;
use serde_json::json;
use std::collections::BTreeMap;
use usnet_crds::CompiledNetworkSpec;

/// What becomes of a network.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Nodes get this.
    Compiled(Box<CompiledNetworkSpec>),
    /// Nodes keep what they have.
    Unchanged,
    /// The controller rejects it, and nodes keep what they have.
    Rejected {
        /// The reason of its condition.
        reason: String,
        /// The message of its condition.
        message: String,
    },
}

/// The cluster once all manifests are applied, and what becomes of each network.
pub(super) fn apply(snapshot: &Snapshot, inputs: &[Input]) -> (Cache, BTreeMap<String, Outcome>) {
    let mut cache = snapshot.cache.clone();
    for input in inputs {
        // A network that is rejected by the API server stays as it is.
        if input.rejected().is_none()
            && let Some(network) = parsed(input)
        {
            cache.networks.insert(input.manifest.name.clone(), network);
        }
    }
    cache.overlays = Overlays::of(&cache.networks, &cache.compiled, &cache.uplinks, &cache.nodes);
    cache.uplink_use = UplinkUse::of(&cache.networks, &cache.compiled, &cache.uplinks);
    let outcomes = inputs.iter().map(|input| (input.manifest.name.clone(), outcome(&cache, input))).collect();
    (cache, outcomes)
}

fn parsed(input: &Input) -> Option<Network> {
    // From text: parts of the object are kept as text.
    let object = serde_json::from_str(&input.applied().to_string()).ok()?;
    Some(parse::network(&object).1)
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

/// By what nodes select a compiled network.
pub(super) fn selection(spec: &CompiledNetworkSpec) -> Option<Selection> {
    let object = json!({"metadata": {"name": "x"}, "spec": spec}).to_string();
    parse::compiled(&serde_json::from_str(&object).ok()?).1.selection
}
