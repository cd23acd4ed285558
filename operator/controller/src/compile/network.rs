//! The desired CompiledNetwork of a network. Pure.

use super::stage::Stage;
use crate::cache::fingerprint;
use crate::cache::{Cache, Compiled, Namespace, Network};
use crate::write::Write;
use kube::core::SelectorExt;
use std::collections::BTreeMap;
use usnet_crds::node_selection::selector_text;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{CompiledNetworkSpec, CompiledOverlay, CompiledState, FixedAttachment, Namespaces, Phase};

/// Compiles a network for all nodes.
pub fn compile(
    network: &Network,
    (valid, overlay): (&ValidNetwork, Option<CompiledOverlay>),
    cluster: &BTreeMap<String, Namespace>,
    reserved: Vec<FixedAttachment>,
) -> CompiledNetworkSpec {
    valid.compiled(CompiledState {
        generation: network.generation,
        created: network.created.clone(),
        phase: if network.is_deleting() { Phase::Draining } else { Phase::Active },
        overlay,
        namespaces: namespaces(valid, cluster),
        reserved,
    })
}

/// The namespaces whose pods may attach. A selector for all of them is not expanded: the list would
/// change with every namespace.
fn namespaces(valid: &ValidNetwork, cluster: &BTreeMap<String, Namespace>) -> Namespaces {
    if valid.namespaces.selects_all() {
        return Namespaces::all();
    }
    let selected = cluster.iter().filter(|(_, namespace)| valid.namespaces.matches(&namespace.labels));
    let selector = selector_text(&valid.namespaces);
    Namespaces { selector, ..selected.map(|(name, _)| name.as_str()).collect() }
}

/// The write that brings the compiled network of this name up to date; none when it is.
pub fn write(cache: &Cache, name: &str) -> Option<Write> {
    let found = cache.compiled.get(name);
    let Some(network) = cache.networks.get(name) else {
        // Its network is deleted and no longer used on any node. Kubernetes' garbage collector
        // would do the same, where it runs.
        return found.map(|found| Write::DeleteCompiled { network: name.to_owned(), uid: found.uid.clone() });
    };
    if let Some(found) = found.filter(|found| found.owner.as_ref() != Some(&network.uid)) {
        return Some(Write::DeleteCompiled { network: name.to_owned(), uid: found.uid.clone() });
    }
    match (Stage::of(cache, name, network), &network.spec) {
        (Stage::New | Stage::Rejected { .. }, _) => None,
        (Stage::Deleting, _) if found.is_some() => drain(name, found?),
        (Stage::Deleting, _) if !network.has_finalizer() => None,
        // It was rejected, so no node has it.
        (Stage::Deleting, Ok(valid)) if is_rejected(cache, name, valid) => None,
        // Otherwise its compiled network was deleted manually: nodes with pods on it must learn of
        // the deletion.
        (Stage::Active | Stage::Deleting, Ok(valid)) => {
            let overlay = match valid.topology.overlay() {
                // None for a network that is being deleted while another has its VNI.
                Some(overlay) => Some(cache.overlays.compiled(name, overlay)?),
                None => None,
            };
            let reserved = cache.reservations.fixed(name).cloned().collect();
            let spec = compile(network, (valid, overlay), &cache.namespaces, reserved);
            let is_current = found.is_some_and(|found| found.fingerprint == Some(fingerprint::of_compiled(&spec)));
            (!is_current).then(|| Write::Compiled {
                network: name.to_owned(),
                owner: network.uid.clone(),
                uid: found.map(|found| found.uid.clone()),
                spec: Box::new(spec),
            })
        }
        (Stage::Active | Stage::Deleting, Err(_)) => None,
    }
}

/// Whether a network that is being deleted could not have been compiled.
fn is_rejected(cache: &Cache, name: &str, valid: &ValidNetwork) -> bool {
    valid.has_ambiguous_addresses() || cache.uplink_use.conflict(name).is_some()
}

/// Nodes drain what was compiled last, whatever the current spec is.
fn drain(name: &str, found: &Compiled) -> Option<Write> {
    let is_draining = found.selection.as_ref().is_some_and(|selection| selection.phase == Phase::Draining);
    (!is_draining).then(|| Write::DrainCompiled { network: name.to_owned(), uid: found.uid.clone() })
}

/// Whether the compiled network is up to date.
pub fn is_current(cache: &Cache, name: &str) -> bool {
    cache.compiled.contains_key(name) && write(cache, name).is_none()
}
