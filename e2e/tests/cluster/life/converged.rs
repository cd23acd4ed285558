//! Whether everything is as it should be, asked of each part itself: what people wrote, what the controller compiled, what the engines have.

use super::names::{self, OURS};
use super::run::Week;
use super::steps::{NAMESPACES, NETWORKS};
use crate::cluster::{check, condition, get, on_node, try_run};
use crate::vpp::process;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::{Engine, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::Engine as _;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::plan::plan;
use usnet_dataplane::ready::ready;
use usnet_dataplane::roots::Roots;
use usnet_dataplane::vpp::Vpp;

const LIMIT: Duration = Duration::from_secs(10);

/// What people wrote, as the API server has it now.
struct Written {
    networks: BTreeMap<String, Value>,
    nodes: BTreeMap<String, Value>,
    namespaces: BTreeMap<String, Value>,
    definitions: Vec<Value>,
    states: BTreeMap<String, Value>,
}

/// What is not as it should be. Things on their way are complaints too: ask again.
pub(super) fn complaint(week: &Week<'_>) -> Result<(), String> {
    let written = Written::read()?;
    written.networks.values().try_for_each(has_settled)?;
    written.nodes_have_what_selects_them()?;
    written.definitions_are_where_they_belong(week)?;
    for node in crate::cluster::NODES {
        engines_have_what_was_compiled(node, &written)?;
    }
    let ghosts: BTreeSet<&String> = written.states.keys().filter(|name| name.starts_with(OURS)).collect();
    let nodes: BTreeSet<&String> = written.nodes.keys().filter(|name| name.starts_with(OURS)).collect();
    check(ghosts == nodes, format!("states of {ghosts:?} for the nodes {nodes:?}"))
}

impl Written {
    fn read() -> Result<Self, String> {
        Ok(Self {
            networks: ours(list(&["usn"])?),
            nodes: by_name(list(&["nodes"])?),
            namespaces: by_name(list(&["namespaces"])?),
            definitions: list(&["net-attach-def", "-A"])?,
            states: by_name(list(&["usns"])?),
        })
    }

    /// Every accepted network is on just the nodes that it selects, or still drains from one.
    fn nodes_have_what_selects_them(&self) -> Result<(), String> {
        for (name, network) in self.networks.iter().filter(|(_, network)| is_accepted(network)) {
            for (node, object) in &self.nodes {
                let state = self.states.get(node).ok_or_else(|| format!("{node} has no state"))?;
                let held = networks_of(state)?.into_iter().find(|held| held.name.as_str() == name);
                let phase = held.map_or("absent".to_owned(), |held| format!("{:?}", held.phase));
                let selected = selects(&network["spec"]["nodeSelector"], object);
                let is_right = if selected { phase == "Active" } else { phase != "Active" };
                // A node whose agent never spoke lacks no engine; all engines of the others were seen.
                check(is_right, format!("{name} is {phase} on {node}, selected: {selected}"))?;
            }
        }
        Ok(())
    }

    fn definitions_are_where_they_belong(&self, week: &Week<'_>) -> Result<(), String> {
        for number in 0..NETWORKS {
            let name = names::network(number);
            let network = self.networks.get(&name);
            for namespace in 0..NAMESPACES {
                let place = names::namespace(namespace);
                let Some(object) = self.namespaces.get(&place) else { continue };
                let found = self.definitions.iter().find(|found| {
                    found["metadata"]["name"] == name.as_str() && found["metadata"]["namespace"] == place.as_str()
                });
                if week.definitions.contains_key(&(namespace, number)) || object["status"]["phase"] != "Active" {
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
}

/// The engines of a node have what its state asks for, as the plan sees it: nothing is left to do.
fn engines_have_what_was_compiled(node: &str, written: &Written) -> Result<(), String> {
    let state = written.states.get(node).ok_or_else(|| format!("{node} has no state"))?;
    let networks = networks_of(state)?;
    let records = records(node)?;
    for engine in Engine::ALL {
        let observed = observe(node, engine)?;
        let of_engine = networks.iter().filter(|network| network.engine == engine).cloned();
        let of_records = records.iter().filter(|record| record.engine == engine);
        let left = plan(&Desired::new(of_engine, of_records), &observed);
        check(left.is_empty(), format!("{engine} on {node}: left to do: {left:?}"))?;
    }
    let files = on_node(node, &["ls", "/run/usnet/networks"]);
    let files: BTreeSet<&str> = files.split_whitespace().filter_map(|file| file.strip_suffix(".json")).collect();
    let names: BTreeSet<&str> = networks.iter().map(|network| network.name.as_str()).collect();
    check(files == names, format!("{node} has files of {files:?} and networks {names:?}"))
}

fn observe(node: &str, engine: Engine) -> Result<Observed, String> {
    let roots = roots(node);
    let observed = match engine {
        Engine::OpenVswitch => {
            let client = usnet_ovsdb::blocking::Client::connect(roots.open_vswitch_socket, LIMIT).map_err(text)?;
            ready(OpenVswitch::new(client).observe())
        }
        Engine::Vpp => {
            let client = usnet_vpp::blocking::Client::connect(roots.vpp_socket, LIMIT).map_err(text)?;
            ready(Vpp::new(client, MemifSocketIds::default()).observe())
        }
    };
    observed.map_err(text)?.map_err(text)
}

/// The attachments of a node.
pub(super) fn records(node: &str) -> Result<Vec<Record>, String> {
    let all = Journal::open(&roots(node)).and_then(|journal| journal.records()).map_err(text)?;
    check(all.unreadable.is_empty(), format!("{:?}", all.unreadable))?;
    Ok(all.records)
}

/// Where a node has its files, as the world's other processes reach them.
fn roots(node: &str) -> Roots {
    let root = PathBuf::from(format!("/proc/{}/root", process(node)));
    Roots {
        run: root.join("run/usnet"),
        state: root.join("var/lib/usnet"),
        kubelet: root.join("var/lib/kubelet"),
        open_vswitch_socket: root.join("run/openvswitch/db.sock"),
        vpp_socket: root.join("run/vpp/api.sock"),
    }
}

/// The controller has said its last word on the network, and the agents theirs; a failure that only a person can mend is a last word.
fn has_settled(network: &Value) -> Result<(), String> {
    let (metadata, status) = (&network["metadata"], &network["status"]);
    let complaint = || format!("{}: {status}", metadata["name"]);
    check(status["observedGeneration"] == metadata["generation"], complaint())?;
    let word = |kind| condition(network, kind).map(|shown| (shown["status"].clone(), shown["reason"].clone()));
    let (ready, reason) = word("Ready").ok_or_else(complaint)?;
    let lasting = ["BridgeExists", "BridgeConflict", "NameConflict", "Draining", "InUse", "ForeignPorts", "Invalid"];
    let is_deleting = metadata["deletionTimestamp"].is_string();
    check(ready == "True" || is_deleting || lasting.iter().any(|lasting| reason == *lasting), complaint())
}

fn is_accepted(network: &Value) -> bool {
    let accepted = condition(network, "Accepted").is_some_and(|shown| shown["status"] == "True");
    accepted && network["metadata"]["deletionTimestamp"].is_null()
}

/// `matchLabels` alone, which is all that the steps use.
fn selects(selector: &Value, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    selector["matchLabels"].as_object().is_none_or(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

fn networks_of(state: &Value) -> Result<Vec<NodeNetwork>, String> {
    match &state["spec"]["networks"] {
        Value::Null => Ok(Vec::new()),
        networks => serde_json::from_value(networks.clone()).map_err(text),
    }
}

fn list(what: &[&str]) -> Result<Vec<Value>, String> {
    let text = try_run("kubectl", &[&["get", "-o", "json"], what].concat(), "")?;
    let mut list: Value = serde_json::from_str(&text).map_err(self::text)?;
    serde_json::from_value(list["items"].take()).map_err(self::text)
}

fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    objects.into_iter().map(|object| (name(&object), object)).collect()
}

/// Those of the week, without what other tests may still have.
fn ours(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let mut all = by_name(objects);
    all.retain(|name, _| name.starts_with(OURS));
    all
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What is still there of the networks of the week, once all were deleted.
pub(super) fn leftovers() -> Vec<String> {
    let mut found: Vec<String> = super::run::all_networks()
        .filter(|name| get(&["usn", name]).is_some())
        .map(|name| format!("network {name}"))
        .collect();
    for node in crate::cluster::NODES {
        found.extend(super::foreign::marked(node).into_iter().filter(|mark| mark.contains(OURS)));
        found.extend(records(node).unwrap_or_default().iter().map(|record| format!("record {} on {node}", record.id)));
        let files = on_node(node, &["sh", "-c", "ls /run/usnet/networks /run/usnet/ports | grep -v :; true"]);
        found.extend(files.split_whitespace().filter(|file| file.starts_with(OURS)).map(ToOwned::to_owned));
        let mounts = on_node(node, &["sh", "-c", "grep -c /direct-kubelet/ /proc/self/mountinfo; true"]);
        found.extend((mounts.trim() != "0").then(|| format!("{} mounts on {node}", mounts.trim())));
    }
    found
}
