//! Installs usnet in the test bed as a user would: `kubectl apply -k config/default`, with
//! components.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::host::command::CommandError;
use crate::kubernetes::kubectl::Kubectl;
use crate::testbed::folder::TestbedFolder;

/// The components that are off by default and that tests need.
const COMPONENTS: [&str; 4] =
    ["components/attachments", "components/hot-plug", "components/engines", "components/policies"];
/// A component that tests need if Kubernetes serves its API.
const RESOURCE_CLAIMS: (&str, &str) = ("components/resource-claims", "resource.k8s.io/v1");
const NAMESPACE: &str = "--namespace=usnet-system";

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot install usnet")]
    Kubectl(#[from] CommandError),
    #[error("cannot write {0}")]
    Write(PathBuf, #[source] io::Error),
    #[error("there is no configuration to install in {0}")]
    NoConfiguration(PathBuf, #[source] io::Error),
}

/// Applies `config/default` of the checkout and the components, with `image` instead of the
/// released one.
pub fn apply(folder: &TestbedFolder, checkout: &Path, image: &str) -> Result<(), InstallError> {
    let overlay = folder.root().join("install");
    fs::create_dir_all(&overlay).map_err(|source| InstallError::Write(overlay.clone(), source))?;
    let overlay = overlay.canonicalize().map_err(|source| InstallError::Write(overlay, source))?;
    let default = checkout.join("config/default");
    let default = default.canonicalize().map_err(|source| InstallError::NoConfiguration(default, source))?;
    let file = overlay.join("kustomization.yaml");
    let kubectl = Kubectl::new(folder);
    let served = kubectl.run(&["api-versions"])?;
    let claims = served.lines().any(|version| version == RESOURCE_CLAIMS.1).then_some(RESOURCE_CLAIMS.0);
    let components: Vec<&str> = COMPONENTS.into_iter().chain(claims).collect();
    let text = format!("{:#}\n", kustomization(&overlay, &default, &components, image));
    fs::write(&file, text).map_err(|source| InstallError::Write(file, source))?;
    kubectl.run(&["apply", "--kustomize", &overlay.to_string_lossy()])?;
    Ok(())
}

/// Waits until the controllers and the agents of all nodes run.
pub fn wait(folder: &TestbedFolder) -> Result<(), InstallError> {
    let kubectl = Kubectl::new(folder);
    for workload in ["deployment/usnet-controller", "daemonset/usnet-agent"] {
        kubectl.wait_while_progressing(&["rollout", "status", NAMESPACE, workload])?;
    }
    Ok(())
}

fn kustomization(overlay: &Path, default: &Path, components: &[&str], image: &str) -> serde_json::Value {
    let path = |component: &&str| relative(overlay, &default.with_file_name(component));
    let (name, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [relative(overlay, default)],
        "components": components.iter().map(path).collect::<Vec<_>>(),
        // With a tag other than `latest`, the image on the node is used: no registry can be
        // reached.
        "images": [{"name": "usnet", "newName": name, "newTag": tag}],
    })
}

/// Returns the relative path from one folder to another; kustomize accepts no absolute paths.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let up = from.components().skip(1).map(|_| Path::new("..")).collect::<PathBuf>();
    up.join(to.strip_prefix("/").unwrap_or(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users of a test bed would otherwise miss these features in an installation of their own.
    #[test]
    fn the_components_of_the_test_bed_are_documented() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for page in ["e2e/README.md", "e2e/scripts/shell.txt"] {
            let text = fs::read_to_string(checkout.join(page)).unwrap();
            for component in COMPONENTS.into_iter().chain([RESOURCE_CLAIMS.0]) {
                let name = component.trim_start_matches("components/");
                assert!(text.contains(name), "{page} does not name {component}");
            }
        }
    }

    #[test]
    fn relative_paths_lead_over_the_root() {
        let path = relative(Path::new("/tmp/usnet-1/install"), Path::new("/src/config/default"));
        assert_eq!(path, Path::new("../../../src/config/default"));
    }
}
