//! Checks that networks from NADs of the legacy userspace CNI exist exactly as long as the
//! definitions, with the settings of the oldest one.

use crate::soak::checks::objects::Objects;
use crate::soak::steps::names;
use crate::soak::steps::{FIRST_OLD, NETWORKS, engine};
use crate::support::cluster::check;
use serde_json::Value;
use std::collections::BTreeSet;
use usnet_crds::EngineKind;

/// Complains about the first that is not; gives how many there are.
pub(crate) fn networks_follow_from_definitions(written: &Objects) -> Result<usize, String> {
    let mut count = 0;
    for number in FIRST_OLD..NETWORKS {
        let name = names::network(number);
        let network = written.networks.get(&name);
        let definitions = of_bridge(number, written);
        let is_going = network.is_some_and(|network| network["metadata"]["deletionTimestamp"].is_string());
        let Some(oldest) = definitions.first() else {
            check(network.is_none() || is_going, format!("{name} is there without a definition"))?;
            continue;
        };
        let Some(network) = network else {
            check(is_claimed(number, written), format!("{name} is not there for {oldest:?}"))?;
            continue;
        };
        count += 1;
        // One that goes, because there was no definition for a while, is recreated when its pods
        // are gone.
        if !is_going {
            has_what_they_say(number, network, &definitions)?;
        }
    }
    Ok(count)
}

/// A NAD of the legacy userspace CNI.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Definition {
    created: String,
    namespace: String,
    name: String,
    is_other: bool,
}

/// Those for the bridge of a network, the oldest first. What is in a namespace that is being
/// deleted does not count.
fn of_bridge(number: usize, written: &Objects) -> Vec<Definition> {
    let start = format!("{}old-{number}-", names::OURS);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<Definition> = Vec::new();
    for definition in &written.definitions {
        let metadata = &definition["metadata"];
        let (name, namespace) = (text(&metadata["name"]), text(&metadata["namespace"]));
        let is_open = written.namespaces.get(&namespace).is_some_and(|object| object["status"]["phase"] == "Active");
        if name.starts_with(&start) && is_open && metadata["deletionTimestamp"].is_null() {
            let usual = crate::soak::actions::manifests::old_config(number, false).to_string();
            let is_other = text(&definition["spec"]["config"]) != usual;
            found.push(Definition { created: text(&metadata["creationTimestamp"]), namespace, name, is_other });
        }
    }
    found.sort();
    found
}

/// Whether a network of a person has the bridge, which definitions join.
fn is_claimed(number: usize, written: &Objects) -> bool {
    (0..FIRST_OLD).any(|other| {
        let is_same = names::bridge_of(other) == names::bridge_of(number) && engine(other) == engine(number);
        is_same && written.networks.contains_key(&names::network(other))
    })
}

/// The network is as the oldest definition asks, and for the namespaces of all that ask for the
/// same.
fn has_what_they_say(number: usize, network: &Value, definitions: &[Definition]) -> Result<(), String> {
    let spec = &network["spec"];
    let is_other = definitions.first().is_some_and(|oldest| oldest.is_other);
    let found = match engine(number) {
        EngineKind::OpenVswitch => spec["port"]["vlan"].is_object(),
        EngineKind::Vpp => spec["port"]["type"] == "VhostUser",
    };
    check(found == is_other, format!("{}, of {definitions:?}: {spec}", names::network(number)))?;
    let agreeing = definitions.iter().filter(|definition| definition.is_other == is_other);
    let wanted: BTreeSet<&str> = agreeing.map(|definition| definition.namespace.as_str()).collect();
    let values = spec["namespaceSelector"]["matchExpressions"][0]["values"].as_array();
    let found: BTreeSet<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    check(found == wanted, format!("{} is for {found:?}, not for {wanted:?}", names::network(number)))
}
