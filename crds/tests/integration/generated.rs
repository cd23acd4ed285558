//! The generated files in `config/crd` and `docs` are up to date.

use std::path::{Path, PathBuf};
use usnet_crds::crdgen::{engines, errors};
use usnet_crds::device::RESOURCE_PREFIX;
use usnet_crds::manifests::{crds, manifests};
use usnet_crds::nad::{RESOURCE_ANNOTATION, config};
use usnet_crds::reference;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn config_crd_is_up_to_date() {
    let folder = checkout().join("config/crd");
    for manifest in manifests().unwrap() {
        let checked_in = std::fs::read_to_string(folder.join(&manifest.file)).unwrap_or_default();
        assert!(checked_in == manifest.yaml, "{} is stale: run cargo run -p usnet-crds --bin crdgen", manifest.file);
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let checked_in = std::fs::read_to_string(checkout().join("docs/reference.md")).unwrap_or_default();
    assert!(checked_in == reference::page().unwrap(), "docs/reference.md is stale: run make crds");
}

/// The API server takes from the controller no definition but the one that it makes.
#[test]
fn the_nad_policy_admits_what_the_controller_generates() {
    let policy = std::fs::read_to_string(checkout().join("config/rbac/own-definitions-only.yaml")).unwrap();
    let made = config(&"some-network".parse().unwrap()).replace("some-network", "' + object.metadata.name + '");
    assert!(
        policy.contains(&format!("[?'{RESOURCE_ANNOTATION}']")) && policy.contains(&format!("'{RESOURCE_PREFIX}/'"))
    );
    assert!(policy.contains(&format!("'{made}'")), "write {made} into config/rbac/own-definitions-only.yaml");
}

#[test]
fn the_reference_has_fields_defaults_and_conditions() {
    let page = reference::page().unwrap();
    for text in ["| `spec.bridge.macAgeSeconds` | integer, default `300` |", "| `DeletionBlocked` |"] {
        assert!(page.contains(text), "{text:?} is not in the reference");
    }
}

#[test]
fn errors_and_reasons_are_up_to_date() {
    let checked_in = std::fs::read_to_string(checkout().join("docs/errors.md")).unwrap();
    let made = errors::page(&checked_in).unwrap();
    assert!(checked_in == made, "docs/errors.md is stale: run make crds");
}

#[test]
fn the_preparation_of_nodes_is_up_to_date() {
    let checked_in = std::fs::read_to_string(checkout().join("docs/engines.md")).unwrap();
    assert!(checked_in == engines::page(&checked_in).unwrap(), "docs/engines.md is stale: run make crds");
    assert!(checked_in.contains("`hugepagesz=2M hugepages=512`") && checked_in.contains("cpuManagerPolicy: static"));
}

#[test]
fn the_crds_have_nothing_that_api_servers_warn_about() {
    for crd in crds().unwrap() {
        let text = crd.to_string();
        assert!(!text.contains("\"nullable\"") && !text.contains("uint"), "{}", crd["metadata"]["name"]);
        // They estimate the cost of `==`, and take `!=` for more expensive than any budget.
        assert!(!text.contains("!= cidr("), "{}", crd["metadata"]["name"]);
    }
}

#[test]
fn the_documented_columns_are_those_that_kubectl_prints() {
    for (page, short_name) in [("getting-started.md", "usn"), ("hot-plug.md", "usna")] {
        let text = std::fs::read_to_string(checkout().join("docs").join(page)).unwrap();
        let prompt = format!("$ kubectl get {short_name}\n");
        let heads = text.split(&prompt).nth(1).and_then(|rest| rest.lines().next()).unwrap();
        let is_it = |crd: &serde_json::Value| crd["spec"]["names"]["shortNames"][0] == short_name;
        let crd = crds().unwrap().into_iter().find(is_it).unwrap();
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
        let narrow = columns.iter().filter(|column| column.get("priority").is_none());
        let narrow: Vec<String> = narrow.map(|column| column["name"].as_str().unwrap().to_uppercase()).collect();
        let documented: Vec<&str> = heads.split_whitespace().collect();
        assert_eq!(documented, [vec!["NAME".to_owned()], narrow].concat(), "{page}");
    }
}
