//! Generates the CRDs in `config/crd`, and in `docs` the reference, errors and reasons, and the
//! preparation of nodes. With a folder as argument it writes only the CRDs, to that folder; with
//! `-` it prints them.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use usnet_crds::crdgen::manifests::{KUSTOMIZATION, manifests};
use usnet_crds::crdgen::{engines, errors, reference};

fn main() -> Result<(), Box<dyn Error>> {
    let checkout = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = std::env::args().nth(1);
    for manifest in manifests()? {
        match target.as_deref() {
            None => std::fs::write(checkout.join("config/crd").join(&manifest.file), manifest.yaml)?,
            Some("-") if manifest.file == KUSTOMIZATION => (),
            Some("-") => write!(std::io::stdout(), "---\n{}", manifest.yaml)?,
            Some(folder) => std::fs::write(PathBuf::from(folder).join(&manifest.file), manifest.yaml)?,
        }
    }
    if target.is_none() {
        std::fs::write(checkout.join("docs/reference.md"), reference::page()?)?;
        let errors_page = checkout.join("docs/errors.md");
        std::fs::write(&errors_page, errors::page(&std::fs::read_to_string(&errors_page)?)?)?;
        let engines_page = checkout.join("docs/engines.md");
        std::fs::write(&engines_page, engines::page(&std::fs::read_to_string(&engines_page)?)?)?;
    }
    Ok(())
}
