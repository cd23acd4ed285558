//! Computes the agent's input from a folder of manifests, with each network as the controller would
//! compile it. Pure.

use super::baseline::Baseline;
use super::files::folder::Folder;
use super::snapshot::{ManifestSnapshot, Source, snapshot};
use kube::core::{ParseExpressionError, SelectorExt};
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_agent::model::input::{Compiled, Input};
use usnet_controller::cache::{Labels, Network};
use usnet_controller::compile::network::compile;
use usnet_crds::network::topology::Overlay;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{NetworkName, Phase, UplinkName, ValidUplink, Vni};
use usnet_node::problem::Problem;

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evaluation {
    /// The networks and uplinks from which the agent selects.
    pub input: Input,
    /// The parts of the files that have no effect, and why.
    pub problems: Vec<Problem>,
}

/// Evaluates a folder for the node of this name.
pub(super) fn evaluate(folder: &Folder, node: &str, baseline: &Baseline) -> Evaluation {
    let mut snapshot = snapshot(folder, node, baseline);
    let mut networks = BTreeMap::new();
    let mut problems = std::mem::take(&mut snapshot.problems);
    for (name, network) in &snapshot.cache.networks {
        // A network without a valid name was rejected with its document, and no node can have it.
        let Ok(name) = name.parse::<NetworkName>() else { continue };
        let compiled = match (&network.spec, snapshot.cache.uplink_use.conflict(name.as_str())) {
            _ if network.is_deleting() => baseline.draining(&name),
            (Err(_), _) => baseline.unchanged(&name),
            (Ok(_), Some(conflict)) => {
                let source = snapshot.sources.get(name.as_str());
                let (field, message) = conflict.message.split_once(": ").unwrap_or(("", &conflict.message));
                problems.extend(source.map(|it| it.problem(field, Some(name.as_str()), message.to_owned())));
                baseline.unchanged(&name)
            }
            (Ok(valid), None) => match compiled(&snapshot, network, valid) {
                Ok(compiled) if !folder.is_complete() && loses_the_node(&compiled, &snapshot.labels, baseline) => {
                    baseline.unchanged(&name)
                }
                Ok(compiled) => Some(baseline.numbered(compiled)),
                Err(error) => {
                    let source = snapshot.sources.get(name.as_str());
                    let problem = |it: &Source| it.problem("spec.nodeSelector", Some(name.as_str()), error.to_string());
                    problems.extend(source.map(problem));
                    baseline.unchanged(&name)
                }
            },
        };
        networks.extend(compiled.map(|compiled| (name, compiled)));
    }
    problems.sort();
    let version = networks.values().map(|network| network.version).chain([baseline.version()]).max();
    let input = Input {
        generation: baseline.generation(&snapshot.labels),
        uplinks: Some(uplinks(&snapshot)),
        labels: snapshot.labels,
        // The node is the first and only node.
        number: 0,
        nodes: None,
        is_alone: true,
        networks,
        unreadable: BTreeMap::new(),
        version: version.unwrap_or_default(),
    };
    Evaluation { input, problems }
}

fn uplinks(snapshot: &ManifestSnapshot) -> BTreeMap<UplinkName, Arc<ValidUplink>> {
    let valid = snapshot.cache.uplinks.values().filter_map(|uplink| uplink.spec.as_ref().ok());
    valid.map(|valid| (valid.name.clone(), Arc::new(valid.clone()))).collect()
}

/// Compiles a network as the API server would return it, without generation and version.
fn compiled(
    snapshot: &ManifestSnapshot,
    network: &Network,
    valid: &ValidNetwork,
) -> Result<Compiled, ParseExpressionError> {
    let vni = |overlay: &Overlay| overlay.vni.unwrap_or_else(|| Vni::default_for(&valid.name));
    let overlay = valid.topology.overlay().map(|overlay| overlay.compiled(vni(overlay)));
    let spec = compile(network, (valid, overlay), &snapshot.cache.namespaces, Vec::new());
    Compiled::new(valid.name.clone(), 0, String::new(), &spec)
}

/// Whether the node has the network, and its selector does not match the known labels. A file that
/// could never be read may have other labels.
fn loses_the_node(compiled: &Compiled, labels: &Labels, baseline: &Baseline) -> bool {
    let held = baseline.held(compiled.network.name.as_str());
    held.is_some_and(|held| held.phase == Phase::Active)
        && compiled.selector.as_ref().is_some_and(|selector| !selector.matches(labels))
}

#[cfg(test)]
mod tests;
