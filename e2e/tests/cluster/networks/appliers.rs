//! Each tool may apply what any other tool has applied, in any order: it succeeds, objects have
//! what was applied, and nothing changes the second time. The objects are the valid ones of the
//! tables in `crds/testdata`, and the samples, without nodes and namespaces.

use crate::support::cluster::{get, timeout, try_run};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::manifests::crds;

/// Fewer would mean that the tables were not read.
const OBJECTS_MIN: usize = 60;
const ENGINES_MIN: usize = 6;
/// How often `kubectl replace` may be refused because a status was written meanwhile.
const CONFLICTS_MAX: usize = 10;
/// The minimum number of tested objects from which all fields are removed.
const EMPTIED_MIN: usize = 15;

/// The method by which a tool applies a manifest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    /// `kubectl apply`, and Argo CD by default.
    ClientSide,
    /// `kubectl apply --server-side`.
    ServerSide,
    /// Flux, and Argo CD with server-side apply: with a manager of their own.
    Forced,
    /// `kubectl replace`.
    Replace,
}

use Tool::{ClientSide, Forced, Replace, ServerSide};

/// Each of them after each other one and after itself, in three parts, each for a third of the
/// objects: all of it for all objects would be minutes of nothing but `kubectl`.
const SEQUENCE: [Tool; 17] = [
    ClientSide, ClientSide, ServerSide, ServerSide, Forced, Forced, Replace, Replace, ClientSide, Forced, ServerSide,
    ClientSide, Replace, ServerSide, Replace, Forced, ClientSide,
];

impl Tool {
    pub(crate) fn run(self, objects: &[Value]) -> Result<String, String> {
        let arguments: &[&str] = match self {
            ClientSide => &["apply"],
            ServerSide => &["apply", "--server-side"],
            Forced => &["apply", "--server-side", "--force-conflicts", "--field-manager=another-tool"],
            Replace => &["replace"],
        };
        let run = || try_run("kubectl", &[arguments, &["-f", "-"]].concat(), &list(objects));
        // `replace` asks to be tried again where a status was written meanwhile.
        let is_conflict = |result: &Result<String, String>| {
            self == Replace && result.as_ref().is_err_and(|error| error.contains("Error from server (Conflict)"))
        };
        let mut result = run();
        for _ in 0..CONFLICTS_MAX {
            if !is_conflict(&result) {
                break;
            }
            result = run();
        }
        result
    }
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// Deletes all objects with this label, also when the test fails.
pub(crate) struct Applied(pub(crate) &'static str);

impl Drop for Applied {
    fn drop(&mut self) {
        let label = format!("appliers={}", self.0);
        if let Err(error) = try_run("kubectl", &["delete", "usn,usu,usne", "-l", &label, timeout()], "") {
            eprintln!("cleaning up {label}: {error}");
        }
    }
}

/// The samples that users start from.
fn samples() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let objects = files.flat_map(|text| {
        let documents = serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap());
        documents.collect::<Vec<_>>()
    });
    objects
        .filter(|object| ["UserspaceNetwork", "UserspaceUplink"].iter().any(|kind| object["kind"] == *kind))
        .collect()
}

/// All good objects of a test.
fn all_objects(label: &str) -> Vec<Value> {
    [objects(label), engines(label)].concat()
}

/// The good UserspaceEngines of their table, on no node.
fn engines(label: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_yaml::from_str(include_str!("../../../../crds/testdata/engines.yaml")).unwrap();
    let good = cases.iter().filter(|case| case["refused"].is_null() && case["old"].is_null());
    let found: Vec<Value> = good
        .enumerate()
        .map(|(number, case)| {
            let mut spec = case["spec"].clone();
            spec["nodeSelector"] = json!({"matchLabels": {"usnet.dev/appliers": "nowhere"}});
            json!({
                "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceEngine", "spec": spec,
                "metadata": {"name": format!("{label}-engine-{number}"), "labels": {"appliers": label}},
            })
        })
        .collect();
    assert!(found.len() >= ENGINES_MIN, "{} engines", found.len());
    found
}

/// The good objects of the tables of networks and uplinks, and the samples.
pub(crate) fn objects(label: &str) -> Vec<Value> {
    let tables = [
        ("UserspaceNetwork", include_str!("../../../../crds/testdata/networks.yaml")),
        ("UserspaceUplink", include_str!("../../../../crds/testdata/uplinks.yaml")),
    ];
    let mut found = Vec::new();
    for (kind, table) in tables {
        let cases: Vec<Value> = serde_yaml::from_str(table).unwrap();
        for case in cases.iter().filter(|case| case["refused"].is_null() && case["old"].is_null()) {
            let mut spec = case["spec"].clone();
            nowhere(kind, &mut spec);
            found.push(json!({
                "apiVersion": "usnet.dev/v1alpha1", "kind": kind, "spec": spec,
                "metadata": {"name": format!("{label}-{}", found.len()), "labels": {"appliers": label}},
            }));
        }
    }
    for (number, mut sample) in samples().into_iter().enumerate() {
        let kind = sample["kind"].as_str().unwrap().to_owned();
        nowhere(&kind, &mut sample["spec"]);
        sample["metadata"] = json!({"name": format!("{label}-sample-{number}"), "labels": {"appliers": label}});
        found.push(sample);
    }
    assert!(found.len() >= OBJECTS_MIN, "{} objects", found.len());
    found
}

fn nowhere(kind: &str, spec: &mut Value) {
    let selector = json!({"matchLabels": {"usnet.dev/appliers": "nowhere"}});
    if kind == "UserspaceUplink" {
        spec["nics"].as_array_mut().unwrap().iter_mut().for_each(|nic| nic["nodeSelector"] = selector.clone());
    } else {
        spec["nodeSelector"] = selector.clone();
        spec["namespaceSelector"] = selector;
    }
}

/// Returns the spec and the generation of each object.
pub(crate) fn stored(label: &str) -> BTreeMap<String, (Value, Value)> {
    let all = get(&["usn,usu,usne", "-l", &format!("appliers={label}")]).unwrap();
    let entry = |object: &Value| {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        (name, (object["spec"].clone(), object["metadata"]["generation"].clone()))
    };
    all["items"].as_array().unwrap().iter().map(entry).collect()
}

pub(crate) fn applied(objects: &[Value], generation: i64) -> BTreeMap<String, (Value, Value)> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    objects.iter().map(|object| (name(object), (object["spec"].clone(), json!(generation)))).collect()
}

#[test]
#[ignore = "long: make nightly"]
fn each_tool_applies_what_any_other_has_applied_and_changes_nothing() {
    let label = "each-tool";
    let objects = all_objects(label);
    let _applied = Applied(label);
    try_run("kubectl", &["create", "-f", "-"], &list(&objects)).unwrap();
    const PARTS: usize = 3;
    // The first tool of a part is the last one of the part before.
    let length = (SEQUENCE.len() - 1).div_ceil(PARTS);
    for part in 0..PARTS {
        let of_part: Vec<Value> = objects.iter().skip(part).step_by(PARTS).cloned().collect();
        let mut before = None;
        for tool in SEQUENCE.into_iter().skip(part * length).take(length + 1) {
            let said = tool.run(&of_part).unwrap_or_else(|error| panic!("{tool:?} after {before:?}: {error}"));
            assert_eq!(stored(label), applied(&objects, 1), "{tool:?} after {before:?}");
            if (before, tool) == (Some(ClientSide), ClientSide) {
                assert_eq!(said.matches(" unchanged").count(), of_part.len(), "{said}");
            }
            before = Some(tool);
        }
    }
    // A comparison with what `kubectl apply` has applied itself.
    ClientSide.run(&objects).unwrap();
    let differences = |mode| try_run("kubectl", &["diff", mode, "-f", "-"], &list(&objects));
    assert_eq!(differences("--server-side=false").as_deref(), Ok(""));
    // Each mode writes an annotation of its own.
    ServerSide.run(&objects).unwrap();
    assert_eq!(differences("--server-side").as_deref(), Ok(""));
}

/// The paths of the objects that are applied as a whole.
fn whole(kind: &str) -> Vec<String> {
    fn add(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            if field["type"] == "object" {
                found.push(path.clone());
                add(field, &path, found);
            } else if field["x-kubernetes-list-type"] == "map" {
                add(&field["items"], &format!("{path}/0"), found);
            }
        }
    }
    let crd = crds().unwrap().into_iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
    let mut found = Vec::new();
    add(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], "", &mut found);
    found
}

/// An object, and the same one with `{}` in the place of something.
struct Pair {
    path: String,
    full: Value,
    empty: Value,
}

fn emptied(label: &str) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for object in all_objects(label) {
        for path in whole(object["kind"].as_str().unwrap()) {
            let pointer = format!("/spec{path}");
            // It would select all nodes or namespaces of the test bed.
            if path.contains("Selector") {
                continue;
            }
            if object.pointer(&pointer).and_then(Value::as_object).is_none_or(serde_json::Map::is_empty) {
                continue;
            }
            let mut full = object.clone();
            full["metadata"]["name"] = json!(format!("{label}-{}", pairs.len()));
            let mut empty = full.clone();
            *empty.pointer_mut(&pointer).unwrap() = json!({});
            pairs.push(Pair { path, full, empty });
        }
    }
    pairs
}

/// Some valid objects for each path.
fn acceptable(pairs: Vec<Pair>) -> Vec<Pair> {
    const OF_PATH: usize = 2;
    let new: Vec<Value> = pairs.iter().map(|pair| pair.empty.clone()).collect();
    let create = ["create", "--dry-run=server", "--validate=false", "-o", "name", "-f", "-"];
    let said = match try_run("kubectl", &create, &list(&new)) {
        Ok(said) | Err(said) => said,
    };
    let accepted: BTreeSet<&str> = said.lines().filter_map(|line| Some(line.rsplit_once('/')?.1)).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    for pair in pairs {
        let bridges = [&pair.full, &pair.empty].map(|object| object["spec"]["bridge"].clone());
        let is_immutable = ["ownership"].iter().any(|field| bridges[0][field] != bridges[1][field]);
        let of_path = count.entry(format!("{} {}", pair.full["kind"], pair.path)).or_default();
        if accepted.contains(pair.full["metadata"]["name"].as_str().unwrap()) && !is_immutable && *of_path < OF_PATH {
            *of_path += 1;
            chosen.push(pair);
        }
    }
    println!("objects of which all fields go: {count:?}");
    chosen
}

#[test]
fn an_object_whose_fields_are_removed_is_an_empty_object() {
    let label = "emptied";
    let pairs = acceptable(emptied(label)).into_iter().map(|pair| (pair.full, pair.empty));
    let (full, empty): (Vec<Value>, Vec<Value>) = pairs.unzip();
    assert!(empty.len() >= EMPTIED_MIN, "{} objects", empty.len());
    let _applied = Applied(label);
    let (half, other) = full.split_at(full.len() / 2);
    ClientSide.run(half).unwrap();
    Forced.run(other).unwrap();
    for tool in [Forced, Forced, ClientSide] {
        tool.run(&empty).unwrap_or_else(|error| panic!("{tool:?}: {error}"));
        assert_eq!(stored(label), applied(&empty, 2), "{tool:?}");
    }
}

#[test]
fn a_selector_whose_fields_are_removed_selects_all() {
    let _applied = Applied("selectors");
    let mut network = objects("selectors").swap_remove(0);
    Forced.run(&[network.clone()]).unwrap();
    for selector in ["nodeSelector", "namespaceSelector"] {
        network["spec"][selector] = json!({});
    }
    // Only what the API server makes of it: the test bed has many namespaces.
    let apply = ["apply", "--server-side", "--field-manager=another-tool", "--dry-run=server", "-o", "json", "-f", "-"];
    let result: Value = serde_json::from_str(&try_run("kubectl", &apply, &network.to_string()).unwrap()).unwrap();
    assert_eq!(result["spec"], network["spec"]);
}
