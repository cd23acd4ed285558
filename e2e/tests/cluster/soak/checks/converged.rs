//! Checks each part for the desired state: the objects of users, the compiled networks, and the
//! engines.

use crate::soak::actions::fault_injection::marked;
use crate::soak::checks::compiled::{engines_have_what_was_selected, records};
use crate::soak::checks::legacy_nads;
use crate::soak::checks::objects::Objects;
use crate::soak::run::SoakRun;
use crate::soak::steps::names::{self, OURS};
use crate::soak::steps::{FIRST_OLD, NAMESPACES, adopted};
use crate::support::cluster::{NODES, check, condition, get, on_node};
use crate::support::node_file::NodeFile;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use usnet_crds::{NodeNetwork, Phase};

/// What is not as it should be, or what there is. Things on their way are complaints too: ask
/// again.
pub(crate) fn complaint(run: &SoakRun<'_>) -> Result<String, String> {
    let written = Objects::read()?;
    written.networks.values().try_for_each(has_settled)?;
    written.all_is_compiled()?;
    written.states_have_the_labels_of_nodes()?;
    written.definitions_are_where_they_belong(run)?;
    let of_definitions = legacy_nads::networks_follow_from_definitions(&written)?;
    let mut adopting = 0;
    for (index, node) in NODES.into_iter().enumerate() {
        let file = NodeFile::read(node)?;
        written.node_has_what_selects_it(node, &file)?;
        adopting += written.bridges_are_adopted_where_they_are(run, (index, node, &file))?;
        engines_have_what_was_selected(node, &file)?;
    }
    let ghosts: BTreeSet<&String> = written.states.keys().filter(|name| name.starts_with(OURS)).collect();
    let nodes: BTreeSet<&String> = written.nodes.keys().filter(|name| name.starts_with(OURS)).collect();
    check(ghosts == nodes, format!("states of {ghosts:?} for the nodes {nodes:?}"))?;
    let networks = written.networks.len();
    Ok(format!("{networks} networks, {of_definitions} of them from definitions; {adopting} adopted bridges in use"))
}

impl Objects {
    /// There is a compiled network for each network that is accepted or being deleted, and for no
    /// other.
    fn all_is_compiled(&self) -> Result<(), String> {
        for name in self.compiled.keys() {
            check(self.networks.contains_key(name), format!("{name} is compiled and has no network"))?;
        }
        for (name, network) in self.networks.iter().filter(|(_, network)| is_accepted(network)) {
            let compiled = self.compiled.get(name).ok_or_else(|| format!("{name} is not compiled"))?;
            let (written, spec) = (&network["spec"], &compiled["spec"]);
            let is_right = spec["phase"] == "Active"
                && spec["generation"] == network["metadata"]["generation"]
                && spec["nodeSelector"] == written["nodeSelector"]
                && spec["bridge"]["mtu"] == written["bridge"]["mtu"]
                && compiled["metadata"]["ownerReferences"][0]["uid"] == network["metadata"]["uid"];
            check(is_right, format!("{name} asks for {written} and is compiled to {compiled}"))?;
        }
        Ok(())
    }

    /// Each node state has the labels of its node, by which agents select.
    fn states_have_the_labels_of_nodes(&self) -> Result<(), String> {
        for (node, object) in &self.nodes {
            let (found, wanted) = (&self.state(node)?["spec"]["labels"], &object["metadata"]["labels"]);
            // A node without labels has no such field.
            let is_right = found == wanted || (wanted.is_null() && *found == json!({}));
            check(is_right, format!("{node} has the labels {wanted}, and its state {found}"))?;
        }
        Ok(())
    }

    /// Every accepted network is on just the nodes that it selects, still drains from one, or says
    /// who has its bridge there.
    fn node_has_what_selects_it(&self, node: &str, file: &NodeFile) -> Result<(), String> {
        let object = self.nodes.get(node).ok_or_else(|| format!("there is no node {node}"))?;
        for (name, network) in self.networks.iter().filter(|(_, network)| is_accepted(network)) {
            let phase = file.network(name).map_or("absent".to_owned(), |held| format!("{:?}", held.phase));
            let refused = file.refused.iter().find(|refused| refused.name.as_str() == *name);
            // All engines of these nodes were seen, so that none is left out for want of one.
            let selected = selects(&network["spec"]["nodeSelector"], object);
            let is_right = match refused {
                Some(refused) => selected && refused.reason == "BridgeConflict" && self.shares_bridge(name, file),
                None if selected => phase == "Active",
                None => phase != "Active",
            };
            check(is_right, format!("{name} is {phase} on {node}, selected: {selected}, refused: {refused:?}"))?;
        }
        Ok(())
    }

    /// Whether another network has the bridge of this one on a node.
    fn shares_bridge(&self, name: &str, file: &NodeFile) -> bool {
        let Some(compiled) = self.compiled.get(name).map(|compiled| &compiled["spec"]) else { return false };
        let is_same = |held: &&NodeNetwork| {
            compiled["bridge"]["name"] == held.bridge.name.as_str() && compiled["engine"] == json!(held.engine)
        };
        file.networks.iter().filter(is_same).any(|held| held.name.as_str() != name)
    }

    fn definitions_are_where_they_belong(&self, run: &SoakRun<'_>) -> Result<(), String> {
        for number in 0..FIRST_OLD {
            let name = names::network(number);
            let network = self.networks.get(&name);
            for namespace in 0..NAMESPACES {
                let place = names::namespace(namespace);
                let Some(object) = self.namespaces.get(&place) else { continue };
                let found = self.definitions.iter().find(|found| {
                    found["metadata"]["name"] == name.as_str() && found["metadata"]["namespace"] == place.as_str()
                });
                let is_of_user = run.definitions.contains(namespace, &name)
                    || (run.definitions.may_be_left(namespace, &name) && found.is_some_and(is_without_owner));
                if is_of_user || object["status"]["phase"] != "Active" {
                    continue;
                }
                let Some(network) = network.filter(|network| is_accepted(network)) else {
                    // A refused network keeps what it had; one that is gone keeps nothing.
                    check(network.is_some() || found.is_none(), format!("{place}/{name} has no network"))?;
                    continue;
                };
                let wanted = selects(&network["spec"]["namespaceSelector"], object);
                check(wanted == found.is_some(), format!("{place}/{name}: wanted {wanted}, found {found:?}"))?;
                let config = found.map(|found| found["spec"]["config"].to_string()).unwrap_or_default();
                check(found.is_none() || config.contains(&name), format!("{place}/{name} says {config}"))?;
            }
        }
        Ok(())
    }

    /// A network that adopts has the bridges that another client created, and says where there is
    /// none. Gives how many it has.
    fn bridges_are_adopted_where_they_are(
        &self,
        run: &SoakRun<'_>,
        (index, node, file): (usize, &str, &NodeFile),
    ) -> Result<usize, String> {
        let mut in_use = 0;
        let reports = self.state(node)?["status"]["networks"].as_array().cloned().unwrap_or_default();
        for number in adopted() {
            let name = names::network(number);
            if file.network(&name).is_none_or(|held| held.phase == Phase::Draining) {
                continue;
            }
            // One that is programmed and has no pods is not listed.
            let report = reports.iter().find(|report| report["name"] == name.as_str());
            let is_programmed = report.is_none_or(|report| report["state"] == "Programmed");
            let is_missing = report.is_some_and(|report| report["reason"] == "BridgeMissing");
            let is_there = run.foreign.has_bridge(index, number);
            let is_right = if is_there { is_programmed } else { is_missing };
            check(is_right, format!("the bridge of {name} on {node} is there: {is_there}, and it says {report:?}"))?;
            in_use += usize::from(is_there);
        }
        Ok(in_use)
    }
}

/// The controller has said its last word on the network, and the agents theirs; a failure that
/// requires operator action is final.
fn has_settled(network: &Value) -> Result<(), String> {
    let (metadata, status) = (&network["metadata"], &network["status"]);
    let complaint = || format!("{} of generation {}: {status}", metadata["name"], metadata["generation"]);
    check(status["observedGeneration"] == metadata["generation"], complaint())?;
    let word = |kind| condition(network, kind).map(|observed| (observed["status"].clone(), observed["reason"].clone()));
    let (ready, reason) = word("Ready").ok_or_else(complaint)?;
    let lasting = ["BridgeExists", "BridgeMissing", "BridgeConflict", "Draining", "InUse", "ForeignPorts", "Invalid"];
    let is_deleting = metadata["deletionTimestamp"].is_string();
    check(ready == "True" || is_deleting || lasting.iter().any(|lasting| reason == *lasting), complaint())
}

fn is_without_owner(object: &Value) -> bool {
    object["metadata"]["ownerReferences"].is_null()
}

fn is_accepted(network: &Value) -> bool {
    let accepted = condition(network, "Accepted").is_some_and(|observed| observed["status"] == "True");
    accepted && network["metadata"]["deletionTimestamp"].is_null()
}

/// `matchLabels` alone, which is all that the steps use.
fn selects(selector: &Value, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    selector["matchLabels"].as_object().is_none_or(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

/// Returns what is left of the networks of the run after all were deleted.
pub(crate) fn leftovers() -> Vec<String> {
    let ours: BTreeSet<String> = names::all_networks().collect();
    let there = ours.iter().filter(|name| get(&["usn", name]).is_some());
    let mut found: Vec<String> = there.map(|name| format!("network {name}")).collect();
    let compiled = ours.iter().filter(|name| get(&["ucn", name]).is_some());
    found.extend(compiled.map(|name| format!("compiled network {name}")));
    for node in NODES {
        let file = NodeFile::read(node).unwrap();
        found.extend(
            file.names().filter(|name| ours.contains(*name)).map(|name| format!("{name} in node.json of {node}")),
        );
        found.extend(marked(node).into_iter().filter(|mark| ours.iter().any(|name| mark.contains(name))));
        found.extend(records(node).unwrap_or_default().iter().map(|record| format!("record {} on {node}", record.id)));
        let files = on_node(node, &["sh", "-c", "ls /run/usnet/networks /run/usnet/ports | grep -v :; true"]);
        let is_ours = |file: &&str| file.starts_with(OURS) || ours.contains(file.trim_end_matches(".json"));
        found.extend(files.split_whitespace().filter(is_ours).map(ToOwned::to_owned));
        let mounts = on_node(node, &["sh", "-c", "grep -c /direct-kubelet/ /proc/self/mountinfo; true"]);
        found.extend((mounts.trim() != "0").then(|| format!("{} mounts on {node}", mounts.trim())));
    }
    found
}
