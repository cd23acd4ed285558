//! The roles of config/components/tenant-roles: the objects that users may view and change with
//! them.

use crate::support::cluster::{check, eventually, kubectl, try_run};
use crate::support::scene::Scene;

const TENANT_ROLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/components/tenant-roles/roles.yaml");

/// Deletes the aggregated roles, even if the test fails.
struct TenantRoles;

impl Drop for TenantRoles {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "--ignore-not-found", "-f", TENANT_ROLES], "");
    }
}

#[test]
fn viewers_of_a_namespace_see_its_definitions_and_cannot_write_networks() {
    let scene = Scene::new("ask-tenant");
    let account = format!("system:serviceaccount:{}:default", scene.name);
    kubectl(&[
        "create",
        "rolebinding",
        "tenant",
        "--clusterrole=view",
        "--serviceaccount=ask-tenant:default",
        "-n",
        &scene.name,
    ]);
    let may = |verb: &str, what: &str, place: &[&str]| {
        let command = [&["auth", "can-i", verb, what, "--as", &account], place].concat();
        try_run("kubectl", &command, "").is_ok()
    };
    let here = ["-n", scene.name.as_str()];
    let definitions = "network-attachment-definitions.k8s.cni.cncf.io";
    assert!(!may("list", definitions, &here));
    let _roles = TenantRoles;
    kubectl(&["apply", "-f", TENANT_ROLES]);
    eventually("the rights of view", || check(may("list", definitions, &here), "not aggregated yet"));
    assert!(!may("list", definitions, &["-n", "default"]));
    assert!(!may("create", definitions, &here));
    assert!(!may("list", "userspacenetworks.usnet.dev", &[]));

    let binding = Bound("ask-tenant-networks");
    kubectl(&["create", "clusterrolebinding", binding.0, "--clusterrole=view", "--serviceaccount=ask-tenant:default"]);
    eventually("networks", || check(may("list", "userspacenetworks.usnet.dev", &[]), "no right"));
    assert!(!may("delete", "userspacenetworks.usnet.dev", &[]));
    kubectl(&["delete", "clusterrolebinding", binding.0]);
    kubectl(&[
        "create",
        "clusterrolebinding",
        binding.0,
        "--clusterrole=usnet-networks-edit",
        "--serviceaccount=ask-tenant:default",
    ]);
    eventually("networks", || check(may("delete", "userspacenetworks.usnet.dev", &[]), "no right"));
    assert!(!may("delete", "compilednetworks.usnet.dev", &[]));
}

/// A ClusterRoleBinding that does not outlive its test.
struct Bound(&'static str);

impl Drop for Bound {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["delete", "--ignore-not-found", "clusterrolebinding", self.0], "");
    }
}
