//! The audit log of the test bed's API server: who asked for what. Tests read from it which rights
//! usnet's programs really use, and that a controller which is no leader any more writes nothing.
//!
//! One JSON object (`audit.k8s.io/v1`, `Event`) a line, written before the client has its answer.
//! At level `Metadata`, without bodies, so that it costs next to nothing.

use serde_json::{Value, json};
use std::fs;
use std::io;

use crate::testbed::folder::TestbedFolder;

/// Names the log's path to the test bed's command.
pub const VARIABLE: &str = "USNET_WORLD_AUDIT_LOG";

/// Writes the policy and gives kube-apiserver's flags.
///
/// # Errors
/// When the policy cannot be written.
pub fn prepare(folder: &TestbedFolder) -> io::Result<Vec<String>> {
    let path = folder.root().join("audit-policy.json");
    fs::write(&path, format!("{:#}\n", policy()))?;
    Ok(vec![
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", folder.audit_log().display()),
        // A test reads one file from its beginning: it is never rotated, whatever its size (in MB).
        "--audit-log-maxsize=100000".to_owned(),
    ])
}

/// What usnet's programs do, and what anybody does to the objects that usnet knows; the cluster's
/// own chatter would be most of the log.
fn policy() -> Value {
    let kinds = json!([{"group": "usnet.dev"}, {"group": "k8s.cni.cncf.io"}]);
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        // An answer is enough; watches have one when they begin.
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [
            {"level": "Metadata", "userGroups": ["system:serviceaccounts:usnet-system"]},
            {"level": "Metadata", "resources": kinds},
            {"level": "None"},
        ],
    })
}
