//! The packages that cargo links into the programs, with licenses and checksums.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{SbomError, Subject, complete};

/// The packages whose programs are released.
const ROOTS: [&str; 4] = ["usnet", "usnet-kubectl", "usnet-plugin", "usnet-tools"];

/// One package, as `cargo metadata` and `Cargo.lock` describe it.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    license: Option<&'a str>,
    checksum: Option<&'a String>,
    dependencies: BTreeSet<&'a str>,
}

/// The list, from the output of `cargo metadata` and the text of `Cargo.lock`.
///
/// # Errors
/// When a package is missing in the output.
pub fn document(metadata: &Value, lock: &str, version: &str, time: u64) -> Result<Value, SbomError> {
    let checksums = checksums(lock);
    let packages = linked(metadata, &checksums)?;
    let reference = |id: &str| packages.get(id).map(|package| package_url(package.name, package.version));
    let components: Vec<Value> = packages.values().map(component).collect();
    let dependencies: Vec<Value> = packages
        .values()
        .map(|package| {
            let mut needed: Vec<String> = package.dependencies.iter().filter_map(|id| reference(id)).collect();
            needed.sort();
            json!({"ref": package_url(package.name, package.version), "dependsOn": needed})
        })
        .collect();
    complete(Subject { kind: "application", name: "usnet", version }, components, dependencies, time)
}

/// The packages that are linked into the programs, by id: not those of tests and builds.
fn linked<'a>(
    metadata: &'a Value,
    checksums: &'a BTreeMap<(String, String), String>,
) -> Result<BTreeMap<&'a str, Package<'a>>, SbomError> {
    let missing = |what: &str| SbomError::Metadata(what.to_owned());
    let list = |value: Option<&'a Value>, what: &str| value.and_then(Value::as_array).ok_or_else(|| missing(what));
    let packages: BTreeMap<&str, &Value> = list(metadata.get("packages"), "packages")?
        .iter()
        .filter_map(|package| Some((text(package, "id")?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(metadata.pointer("/resolve/nodes"), "dependencies")?
        .iter()
        .filter_map(|node| Some((text(node, "id")?, node)))
        .collect();
    let mut open: Vec<&str> = Vec::new();
    for root in ROOTS {
        let found = packages.iter().find(|(_, package)| text(package, "name") == Some(root));
        open.push(found.ok_or_else(|| missing(root))?.0);
    }
    let mut result = BTreeMap::new();
    while let Some(id) = open.pop() {
        if result.contains_key(id) {
            continue;
        }
        let (package, node) = packages.get(id).zip(nodes.get(id)).ok_or_else(|| missing(id))?;
        let dependencies = list(node.get("deps"), id)?.iter().filter(|dependency| is_linked(dependency));
        let dependencies: BTreeSet<&str> = dependencies.filter_map(|dependency| text(dependency, "pkg")).collect();
        open.extend(&dependencies);
        let name = text(package, "name").ok_or_else(|| missing(id))?;
        let version = text(package, "version").ok_or_else(|| missing(id))?;
        let checksum = checksums.get(&(name.to_owned(), version.to_owned()));
        result.insert(id, Package { name, version, license: text(package, "license"), checksum, dependencies });
    }
    Ok(result)
}

fn is_linked(dependency: &Value) -> bool {
    let kinds = dependency.get("dep_kinds").and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind.get("kind").is_none_or(Value::is_null)))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

fn component(package: &Package<'_>) -> Value {
    let url = package_url(package.name, package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
    });
    // Older packages separate two licenses by a slash, which is no SPDX expression.
    let license = package.license.map(|license| json!([{"expression": license.replace('/', " OR ")}]));
    let checksum = package.checksum.map(|checksum| json!([{"alg": "SHA-256", "content": checksum}]));
    if let Some(fields) = component.as_object_mut() {
        fields.extend(license.map(|license| ("licenses".to_owned(), license)));
        fields.extend(checksum.map(|checksum| ("hashes".to_owned(), checksum)));
    }
    component
}

fn package_url(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// The checksums in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let start = format!("{name} = \"");
        block.lines().find_map(|line| Some(line.strip_prefix(&start)?.trim_end_matches('"').to_owned()))
    };
    lock.split("[[package]]")
        .filter_map(|block| Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let dependency = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let node = |name: &str, deps: Value| json!({"id": name, "deps": deps});
        let packages = ["usnet", "usnet-kubectl", "usnet-plugin", "usnet-tools", "linked", "tested"].map(package);
        json!({
            "packages": packages,
            "resolve": {"nodes": [
                node("usnet", json!([dependency("linked", Value::Null), dependency("tested", json!("dev"))])),
                node("usnet-kubectl", json!([])),
                node("usnet-plugin", json!([])),
                node("usnet-tools", json!([])),
                node("linked", json!([])),
                node("tested", json!([])),
            ]},
        })
    }

    #[test]
    fn packages_of_tests_are_left_out() {
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let document = document(&metadata(), lock, "0.1.0", 0).unwrap();
        let names: Vec<&str> = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|component| component["name"].as_str())
            .collect();
        assert_eq!(names, ["linked", "usnet-kubectl", "usnet-plugin", "usnet-tools", "usnet"]);
        assert_eq!(document["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["dependencies"][4]["dependsOn"], json!(["pkg:cargo/linked@1.0.0"]));
        assert_eq!(document["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn missing_programs_are_an_error() {
        let empty = json!({"packages": [], "resolve": {"nodes": []}});
        let error = document(&empty, "", "0.1.0", 0).unwrap_err();
        assert_eq!(error.to_string(), "cargo metadata says nothing of usnet");
    }
}
