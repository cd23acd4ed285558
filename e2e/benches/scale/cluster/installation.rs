//! What an installation applies but for its workloads: CRDs, RBAC, admission policies.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::api_server::ApiServer;

pub(crate) fn apply(server: &ApiServer) {
    let e2e = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = e2e.join("../config").canonicalize().expect("the folder config");
    let file = |path: PathBuf| path.display().to_string();
    server.kubectl(&["apply", "-f", &file(config.join("base/namespace.yaml"))]);
    server.kubectl(&["apply", "-f", &file(e2e.join("src/nodes/network-attachment-definition.yaml"))]);
    let overlay = server.folder.path().canonicalize().expect("a folder").join("install");
    fs::create_dir(&overlay).expect("a folder");
    let text = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "usnet-system",
        "resources": [relative(&overlay, &config.join("crd")), relative(&overlay, &config.join("rbac"))],
    });
    fs::write(overlay.join("kustomization.yaml"), text.to_string()).expect("a kustomization");
    server.kubectl(&["apply", "--server-side", "-k", &file(overlay)]);
    server.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
}

/// What the component of policies adds, but for its workload, and the CRD of MultiNetworkPolicies.
pub(crate) fn apply_policies(server: &ApiServer) {
    let e2e = Path::new(env!("CARGO_MANIFEST_DIR"));
    let component = e2e.join("../config/components/policies");
    let crd = e2e.join("src/nodes/multi-network-policy.yaml");
    for path in [crd, component.join("rights.yaml"), component.join("compiled-policy-writers.yaml")] {
        server.kubectl(&["apply", "--server-side", "-f", &path.display().to_string()]);
    }
    server.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
}

/// The way from one folder to another; kustomize accepts no absolute paths.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let up = from.components().skip(1).map(|_| Path::new("..")).collect::<PathBuf>();
    up.join(to.strip_prefix("/").unwrap_or(to))
}
