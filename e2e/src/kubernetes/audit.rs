//! The audit log of the test bed's API server. Tests read from it which rights the programs of
//! usnet use, and that a controller that is no longer the leader writes nothing.
//!
//! Each line has one JSON object (`audit.k8s.io/v1`, `Event`), which is written before the client
//! gets the response. The level is `Metadata`, without bodies, which costs little.

use serde_json::{Value, json};
use std::fs;
use std::io;

use crate::testbed::folder::TestbedFolder;

/// The environment variable with the path of the log for the user's command.
pub const VARIABLE: &str = "USNET_WORLD_AUDIT_LOG";

/// Writes the policy and returns the flags for kube-apiserver.
pub fn prepare(folder: &TestbedFolder) -> io::Result<Vec<String>> {
    let path = folder.root().join("audit-policy.json");
    fs::write(&path, format!("{:#}\n", policy()))?;
    Ok(vec![
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", folder.audit_log().display()),
        // The size in MB is never reached, because tests read one file from its start.
        "--audit-log-maxsize=100000".to_owned(),
    ])
}

/// Returns a policy that logs the requests of usnet's programs, and all requests for the objects
/// that usnet uses. Other requests would be most of the log.
fn policy() -> Value {
    let accounts = json!(["system:serviceaccounts:usnet-system", "system:serviceaccounts:usnet-engines"]);
    let kinds = json!([{"group": "usnet.dev"}, {"group": "k8s.cni.cncf.io"}]);
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        // The response is enough; a watch has one at its start.
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [
            {"level": "Metadata", "userGroups": accounts},
            {"level": "Metadata", "resources": kinds},
            {"level": "None"},
        ],
    })
}
