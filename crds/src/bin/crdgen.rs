//! Writes the CRDs into `config/crd` and the reference into `docs`. With a folder it writes the CRDs there and nothing else, with `-` it prints them.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use usnet_crds::manifests::{KUSTOMIZATION, manifests};
use usnet_crds::reference;

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
    }
    Ok(())
}
