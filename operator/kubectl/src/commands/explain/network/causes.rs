//! The causes of problems with a network, those of the whole network first.

use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::{remedy, remedy_for};
use crate::commands::shared::join_first;
use crate::model::placements::Placement;
use crate::model::snapshot::CONTROLLER;
use crate::model::{Objects, Snapshot};
use crate::output::count;
use std::collections::BTreeMap;
use usnet_controller::cache::Network;
use usnet_controller::status::tally::NodeProgress;
use usnet_crds::conditions::reason::NOT_CONNECTED;
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, DELETION_BLOCKED, PROGRAMMED, READY, Status, find, reason};
use usnet_crds::network::FORCE_DELETE;
use usnet_crds::node_selection::selector_text;

/// The maximum number of nodes or pods in a sentence.
const NAMED: usize = 5;

pub(crate) fn causes(
    snapshot: &Snapshot,
    (name, network): (&str, &Network),
    placements: &[Placement<'_>],
) -> Vec<Finding> {
    let whole = [controller(snapshot, network), rejected(network), deletion(name, network)];
    let mut found: Vec<Finding> = whole.into_iter().flatten().collect();
    // The other conditions of a rejected network are outdated.
    if rejected(network).is_none() && !network.is_deleting() {
        found.extend(definitions(network));
        found.extend(no_namespace(snapshot, network));
        found.extend(no_node(snapshot, (name, network), placements));
        found.extend(refused_compiled(network));
    }
    found.extend(nodes(snapshot, network, placements));
    found.extend(without_agent(snapshot, placements));
    found.extend(interfaces(placements));
    found
}

fn controller(snapshot: &Snapshot, network: &Network) -> Option<Finding> {
    let observed = network.status.as_ref().and_then(|status| status.observed_generation);
    if observed >= Some(network.generation) {
        return None;
    }
    let is_ready = snapshot.component(CONTROLLER).any(|pod| pod.is_ready);
    let why = match (snapshot.has_read(Objects::UsnetPods) && !is_ready, &snapshot.leader) {
        (true, _) => "the last change was not read, because no controller is ready".to_owned(),
        (false, None) if snapshot.has_read(Objects::Lease) => {
            "the last change was not read, because no controller is the leader".to_owned()
        }
        (false, _) => "the controller has not read the last change yet".to_owned(),
    };
    let remedy = "check the controllers: kubectl get pods -n usnet-system; kubectl logs -n usnet-system deployment/usnet-controller";
    Some(Finding::new("NotObserved", why, remedy))
}

fn rejected(network: &Network) -> Option<Finding> {
    let accepted = find(&network.status.as_ref()?.conditions, ACCEPTED)?;
    (accepted.status == Status::False.as_str())
        .then(|| Finding::new(&accepted.reason, accepted.message.clone(), remedy(&accepted.reason)))
}

fn deletion(name: &str, network: &Network) -> Option<Finding> {
    let deleted = network.is_deleting().then_some(network.status.as_ref()).flatten()?;
    let blocked = find(&deleted.conditions, DELETION_BLOCKED)?;
    if let Some(value) = network.force_delete.as_ref().filter(|value| *value != name) {
        let why = format!("the annotation {FORCE_DELETE} is ignored: its value is {value:?}");
        let remedy = format!("kubectl annotate usn {name} --overwrite {FORCE_DELETE}={name}");
        return Some(Finding::new("ForceDeleteIgnored", why, remedy));
    }
    Some(Finding::new(&blocked.reason, blocked.message.clone(), remedy(&blocked.reason)))
}

fn definitions(network: &Network) -> Option<Finding> {
    let conditions = &network.status.as_ref()?.conditions;
    let definitions = find(conditions, DEFINITIONS_READY)?;
    let is_ready = find(conditions, READY).is_some_and(|ready| ready.status == Status::True.as_str());
    let is_problem =
        [reason::NAME_CONFLICT, reason::DEFINITION_REFUSED, reason::UNAVAILABLE].contains(&definitions.reason.as_str());
    let found = || Finding::new(&definitions.reason, definitions.message.clone(), remedy(&definitions.reason));
    (definitions.status == Status::False.as_str() && is_problem).then(|| found().warning_if(is_ready))
}

fn no_namespace(snapshot: &Snapshot, network: &Network) -> Option<Finding> {
    use kube::core::SelectorExt;
    let valid = network.spec.as_ref().ok().filter(|_| snapshot.has_read(Objects::Namespaces))?;
    let is_selected = snapshot.cache.namespaces.values().any(|namespace| valid.namespaces.matches(&namespace.labels));
    if is_selected || valid.namespaces.selects_all() || network.is_from_nad() {
        return None;
    }
    let selector = selector_text(&valid.namespaces);
    let why = format!("its namespaceSelector ({selector}) matches no namespace, so no pod can attach");
    Some(Finding::new(
        "NoNamespaceSelected",
        why,
        format!("label a namespace so that it matches {selector}: kubectl label namespace NAME KEY=VALUE"),
    ))
}

fn no_node(snapshot: &Snapshot, (name, network): (&str, &Network), placements: &[Placement<'_>]) -> Option<Finding> {
    let valid = network.spec.as_ref().ok()?;
    // The network may not be compiled yet, or by a later release.
    snapshot.cache.compiled.get(name)?.selection.as_ref()?;
    if placements.iter().any(|placement| placement.progress.is_some()) || snapshot.cache.nodes.is_empty() {
        return None;
    }
    let engine = valid.engine;
    Some(match &valid.nodes {
        Some(selector) => {
            let selector = selector_text(selector);
            let why = format!("its nodeSelector ({selector}) matches no node");
            let remedy = format!(
                "label a node so that it matches {selector} (kubectl label node NAME KEY=VALUE), or change spec.nodeSelector"
            );
            Finding::new("NoNodeSelected", why, remedy)
        }
        None => {
            let why =
                format!("it has no nodeSelector and so selects all nodes with {engine}, but no node has this engine");
            Finding::new(
                "EngineNowhere",
                why,
                format!("start {engine} on a node: kubectl usnet explain node NAME shows what its agent tried"),
            )
        }
    })
}

fn refused_compiled(network: &Network) -> Option<Finding> {
    let programmed = find(&network.status.as_ref()?.conditions, PROGRAMMED)?;
    (programmed.reason == reason::COMPILED_NETWORK_REFUSED)
        .then(|| Finding::new(&programmed.reason, programmed.message.clone(), remedy(&programmed.reason)))
}

/// Returns the failures of nodes, grouped by reason.
fn nodes(snapshot: &Snapshot, network: &Network, placements: &[Placement<'_>]) -> Vec<Finding> {
    let engine = network.spec.as_ref().ok().map(|valid| valid.engine);
    let mut failed: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
    let mut unreachable = Vec::new();
    for placement in placements {
        match placement.progress {
            Some(NodeProgress::Failed { reason, message }) => {
                failed.entry(reason).or_insert_with(|| (Vec::new(), message)).0.push(placement.node.to_owned());
            }
            Some(NodeProgress::Unreachable) => unreachable.push(placement.node.to_owned()),
            _ => {}
        }
    }
    let finding = |(reason, (nodes, message)): (&str, (Vec<String>, &str))| {
        let of = format!("{}: {}", count(nodes.len(), "node"), join_first(&nodes, NAMED));
        let remedy = engine.map_or_else(|| remedy(reason), |engine| remedy_for(reason, engine));
        Finding::new(reason, message, remedy).of(of)
    };
    let mut findings: Vec<_> = failed.into_iter().map(finding).collect();
    if !unreachable.is_empty() && snapshot.has_read(Objects::Nodes) {
        let why = format!(
            "Kubernetes reports {} as NotReady; the network becomes Ready without them",
            count(unreachable.len(), "node")
        );
        let remedy = "bring the nodes back, or delete their Node objects if they are gone: kubectl get nodes";
        findings.push(Finding::new("NodesNotReady", why, remedy).of(join_first(&unreachable, NAMED)));
    }
    findings
}

/// Finds pending nodes that have no agent to program them.
fn without_agent(snapshot: &Snapshot, placements: &[Placement<'_>]) -> Option<Finding> {
    if !snapshot.has_read(Objects::UsnetPods) {
        return None;
    }
    let is_pending = |placement: &&Placement<'_>| placement.progress == Some(NodeProgress::Pending);
    let has_agent = |node: &str| snapshot.agent(node).is_some_and(|agent| agent.is_ready);
    let pending = placements.iter().filter(is_pending).filter(|placement| !has_agent(placement.node));
    let pending: Vec<String> = pending.map(|placement| placement.node.to_owned()).collect();
    let why = format!("{} cannot apply the last change, because no agent is ready there", count(pending.len(), "node"));
    let remedy = "kubectl get pods -n usnet-system -o wide; kubectl usnet explain node NAME";
    (!pending.is_empty()).then(|| Finding::new("NoAgent", why, remedy).of(join_first(&pending, NAMED)))
}

/// Finds attached interfaces with a problem, grouped by reason.
fn interfaces(placements: &[Placement<'_>]) -> Vec<Finding> {
    let mut by_reason: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
    for entry in placements.iter().filter_map(|placement| placement.report).flat_map(|report| &report.degraded) {
        let entries = by_reason.entry(entry.reason.as_str()).or_insert_with(|| (Vec::new(), entry.message.as_str()));
        entries.0.push(format!("{} {}", entry.pod, entry.interface));
    }
    let finding = |(reason, (entries, message)): (&str, (Vec<String>, &str))| {
        let cause = if reason == NOT_CONNECTED { "ProgramsNotConnected" } else { reason };
        let found = Finding::new(cause, message, remedy(reason)).warning_if(reason == NOT_CONNECTED);
        found.of(join_first(&entries, NAMED))
    };
    by_reason.into_iter().map(finding).collect()
}
