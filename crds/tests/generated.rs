//! The generated files in `config/crd` and `docs` are up to date.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

use std::path::{Path, PathBuf};
use usnet_crds::EngineKind;
use usnet_crds::conditions::engine_connected;
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
fn the_reference_has_fields_defaults_rules_and_reasons() {
    let page = reference::page().unwrap();
    for text in [
        "| `spec.bridge.macAgeSeconds` | integer | `300` |",
        "MTU is out of range: use 576 to 9702",
        "| `NameConflict` |",
    ] {
        assert!(page.contains(text), "{text:?} is not in the reference");
    }
}

/// Types and reasons of conditions, and the conditions of engines.
#[test]
fn for_every_reason_the_pages_say_what_to_do() {
    let read = |path: &str| std::fs::read_to_string(checkout().join(path)).unwrap();
    let pages = read("docs/errors.md") + &read("docs/operations.md");
    let sources = read("crds/src/conditions/types.rs") + &read("crds/src/conditions/reason.rs");
    let constants = sources.split(": &str = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let values = constants.chain(EngineKind::ALL.map(engine_connected));
    let missing: Vec<&str> = values
        .filter(|value| !pages.contains(&format!("`{value}`")) && !pages.contains(&format!("| {value} |")))
        .collect();
    assert_eq!(
        missing,
        Vec::<&str>::new(),
        "write in docs/errors.md or docs/operations.md what they mean and what to do"
    );
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
