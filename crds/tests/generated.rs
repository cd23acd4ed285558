//! What is checked in under `config/crd` is what the types say.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

use std::path::Path;
use usnet_crds::manifests::{definitions, manifests};

#[test]
fn config_crd_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd");
    for manifest in manifests().unwrap() {
        let checked_in = std::fs::read_to_string(folder.join(&manifest.file)).unwrap_or_default();
        assert!(checked_in == manifest.yaml, "{} is stale: run cargo run -p usnet-crds --bin crdgen", manifest.file);
    }
}

#[test]
fn the_crds_have_nothing_that_api_servers_warn_about() {
    for definition in definitions().unwrap() {
        let text = definition.to_string();
        assert!(!text.contains("\"nullable\"") && !text.contains("uint"), "{}", definition["metadata"]["name"]);
    }
}
