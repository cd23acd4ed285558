//! Combines the documents of a folder into a snapshot. Pure.

use super::manifest_snapshot::{ManifestSnapshot, invalid_network};
use super::nads::{is_from_nads, merge_nads};
use super::source::Source;
use crate::baseline::Baseline;
use crate::files::document::Object;
use crate::files::folder::Folder;
use usnet_controller::cache::{Cache, Labels, NadSet, Network, UplinkUse};

/// Combines the documents of a folder, for the node of this name.
pub(crate) fn snapshot(folder: &Folder, node: &str, baseline: &Baseline) -> ManifestSnapshot {
    let cache = Cache { nads: NadSet::none(), ..Cache::default() };
    let problems = folder.problems().cloned().collect();
    let mut snapshot =
        ManifestSnapshot { cache, labels: well_known_labels(node), problems, ..ManifestSnapshot::default() };
    for (file, document) in folder.documents() {
        let source = Source { file: file.to_owned(), document: document.number, line: document.line };
        match &document.object {
            Object::Network { name, network } => snapshot.network(name, network, source, baseline.held(name)),
            Object::Uplink { name, uplink } => snapshot.uplink(name, uplink, source),
            Object::Namespace { name, labels } => snapshot.namespace(name, labels),
            Object::Node { name, labels } if name == node => snapshot.labels.extend(labels.clone()),
            Object::Node { .. } => {}
            Object::Nad { key, nad } => snapshot.nad(key, nad, source),
            Object::Other(problem) => snapshot.problems.push(problem.clone()),
        }
    }
    networks_missing_manifest(&mut snapshot, baseline, folder.is_complete());
    let Cache { networks, compiled, uplinks, .. } = &snapshot.cache;
    snapshot.cache.uplink_use = UplinkUse::of(networks, compiled, uplinks);
    snapshot
}

/// Adds the networks of the baseline that are in no document. Either NADs request them, or they are
/// being deleted. They all stay while a file was never valid, because it may contain them, and a
/// network from NADs stays while a NAD in its namespaces is unreadable, because that may request
/// it.
fn networks_missing_manifest(snapshot: &mut ManifestSnapshot, baseline: &Baseline, is_complete: bool) {
    for network in baseline.networks() {
        let missing = || Network {
            has_from_nad_label: is_from_nads(network),
            ..invalid_network("no readable file contains it".to_owned())
        };
        snapshot.cache.networks.entry(network.name.to_string()).or_insert_with(missing);
    }
    let unreadable = merge_nads(snapshot, baseline);
    for network in baseline.networks() {
        let has_manifest = snapshot.sources.contains_key(network.name.as_str());
        let may_be_requested = is_from_nads(network) && !unreadable.is_disjoint(&network.namespaces.names);
        if is_complete && !has_manifest && !may_be_requested {
            snapshot.delete(network.name.as_str());
        }
    }
}

/// The labels that kubelet puts on every node.
fn well_known_labels(node: &str) -> Labels {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Labels::from([
        label("kubernetes.io/hostname", node),
        label("kubernetes.io/os", "linux"),
        label("kubernetes.io/arch", architecture),
    ])
}
