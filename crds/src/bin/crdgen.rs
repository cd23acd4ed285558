//! Writes the CRDs into `config/crd` (or the folder given), or prints them with `-`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use usnet_crds::manifests::{KUSTOMIZATION, manifests};

fn main() -> Result<(), Box<dyn Error>> {
    let checked_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/crd");
    let target = std::env::args().nth(1).unwrap_or_else(|| checked_in.to_owned());
    for manifest in manifests()? {
        if target != "-" {
            std::fs::write(PathBuf::from(&target).join(&manifest.file), manifest.yaml)?;
        } else if manifest.file != KUSTOMIZATION {
            write!(std::io::stdout(), "---\n{}", manifest.yaml)?;
        }
    }
    Ok(())
}
