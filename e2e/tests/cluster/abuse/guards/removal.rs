//! Guards taken out: admission policies by their bindings, roles by giving more.

use crate::resource_claims;
use crate::support::cluster::{apply, get, kubectl, try_run};
use serde_json::{Value, json};

/// The admission policies: who may write what of node states, of compiled networks and policies,
/// and of slices of nodes, what agents may write of node states and of pods, what the controller
/// may write of definitions, of networks, of uplinks and of attachments. The last ones exist where
/// Kubernetes has resource claims: [`OF_CLAIMS`] policies of devices of nodes, in slices and in the
/// status of claims, and of their classes.
const POLICIES: [&str; 13] = [
    "usnet-node-state-writers",
    "usnet-compiled-network-writers",
    "usnet-compiled-policy-writers",
    "usnet-node-slice-writers",
    "usnet-agent-own-node-only",
    "usnet-agent-annotations-of-own-pods-only",
    "usnet-controller-own-definitions-only",
    "usnet-controller-networks-of-definitions-only",
    "usnet-controller-uplinks-of-users",
    "usnet-controller-attachments-of-users",
    "usnet-agent-own-slices-only",
    "usnet-agent-own-devices-only",
    "usnet-controller-own-classes-only",
];

const OF_CLAIMS: usize = 3;

/// Policies without bindings, until this is dropped.
pub(crate) struct WithoutPolicies(Vec<Value>);

impl WithoutPolicies {
    pub(crate) fn new() -> Self {
        let of_claims = if resource_claims::is_supported() { 0 } else { OF_CLAIMS };
        let bindings = POLICIES.iter().take(POLICIES.len() - of_claims).map(|name| {
            let binding = get(&["validatingadmissionpolicybinding", name]).expect("config/ is applied");
            kubectl(&["delete", "validatingadmissionpolicybinding", name]);
            json!({
                "apiVersion": binding["apiVersion"], "kind": binding["kind"], "metadata": {"name": name}, "spec": binding["spec"],
            })
        });
        Self(bindings.collect())
    }
}

impl Drop for WithoutPolicies {
    fn drop(&mut self) {
        self.0.iter().for_each(apply);
    }
}

/// Service accounts of usnet that may do everything, until this is dropped.
pub(crate) struct WithoutRoles;

impl WithoutRoles {
    pub(crate) fn new() -> Self {
        let accounts = ["usnet-agent", "usnet-controller"]
            .map(|name| json!({"kind": "ServiceAccount", "name": name, "namespace": "usnet-system"}));
        apply(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "guards-test"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": accounts,
        }));
        Self
    }
}

impl Drop for WithoutRoles {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "clusterrolebinding", "guards-test"], "");
    }
}
