//! A tenant whose Kustomization acts with the rights of a service account: pods and interfaces of
//! its own, and no networks. The roles are those that config/default has.

use super::figures::{Figures, is_long};
use super::flux::Flux;
use super::tool::Tool;
use crate::support::cluster::{apply, check, eventually, get};
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const TENANT: &str = "gitops-tenant";
fn rights() -> [Value; 2] {
    let subject = json!({"kind": "ServiceAccount", "name": TENANT, "namespace": "flux-system"});
    [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": TENANT, "namespace": "flux-system"}}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": TENANT, "namespace": TENANT}, "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        }),
    ]
}

/// An interface of the pod, which nothing but its rate tells from another one.
fn interface(name: &str, kbps: i64) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": name, "namespace": TENANT},
        "spec": {"pod": "user", "network": TENANT, "interface": "net2", "rateLimit": {"ingressKbps": kbps}},
    })
}

struct Tenant {
    flux: Flux,
    figures: Figures,
    pod: Value,
}

impl Tenant {
    #[track_caller]
    fn commits(&mut self, what: &str, object: Option<Value>, words: Option<&[&str]>) {
        let objects: Vec<Value> = [self.pod.clone()].into_iter().chain(object).collect();
        let applied = self.flux.commit(TENANT, &objects);
        self.figures.row(what, &applied, None);
        let is_as_expected = match words {
            Some(words) => !applied.is_ready && words.iter().all(|word| applied.message.contains(word)),
            None => applied.is_ready,
        };
        assert!(is_as_expected, "{what}: {applied:?}");
    }
}

#[test]
fn a_tenant_delivers_pods_and_interfaces_and_no_networks() {
    if !is_long("a tenant's Kustomization") {
        return;
    }
    let scene = Scene::new(TENANT);
    scene.network(TENANT, &json!({"port": {"type": "Veth"}}));
    let (flux, figures) = (Flux::start(), Figures::new("Flux, as a tenant"));
    let mut tenant = Tenant { flux, figures, pod: sleeping_pod(&scene, "user", TENANT) };
    rights().iter().for_each(apply);
    tenant.flux.add(TENANT, &[]);
    tenant.flux.act_as(TENANT, TENANT);

    tenant.commits("a pod", None, None);
    wait_running(&scene, "user");
    let own = scene.manifest("gitops-own", &json!({}));
    tenant.commits("a network", Some(own), Some(&["userspacenetworks", "forbidden"]));
    let definition = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "own", "namespace": TENANT}, "spec": {"config": "{}"},
    });
    tenant.commits("a definition", Some(definition), Some(&["network-attachment-definitions", "forbidden"]));
    tenant.commits("an interface of the running pod", Some(interface("first", 1000)), None);
    let refused = Some(["an attachment cannot be changed", "another name"].as_slice());
    tenant.commits("its rate changed", Some(interface("first", 2000)), refused);
    tenant.commits("another one in its place", Some(interface("second", 2000)), None);
    eventually("the first one is gone", || {
        check(get(&["userspaceattachment", "first", "-n", TENANT]).is_none(), "still there")
    });
    tenant.commits("none", None, None);
}
