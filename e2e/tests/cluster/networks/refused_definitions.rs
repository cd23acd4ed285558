//! Namespaces that reject the definition of a network: they are named, and nothing else changes.

use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout};
use crate::support::kubectl_usnet::usnet_with_input;
use crate::support::scene::{Scene, await_condition, wait_ready};
use serde_json::{Value, json};

const DEFINITIONS: &str = "count/network-attachment-definitions.k8s.cni.cncf.io";
const POLICY: &str = "test-labelled-definitions";

/// A quota of definitions in the scene's namespace.
fn quota(scene: &Scene, most: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "definitions", "namespace": scene.name},
        "spec": {"hard": {DEFINITIONS: most.to_string()}},
    })
}

/// A policy of the cluster for one namespace, removed when it is dropped.
struct Policy;

impl Policy {
    fn create(namespace: &str) -> Self {
        let resources = json!([{
            "apiGroups": ["k8s.cni.cncf.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["network-attachment-definitions"],
        }]);
        let kind = "admissionregistration.k8s.io/v1";
        apply(&json!({
            "apiVersion": kind, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": POLICY},
            "spec": {
                "matchConstraints": {"resourceRules": resources},
                "validations": [{
                    "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
                    "message": "every definition needs the label team",
                }],
            },
        }));
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
        apply(&json!({
            "apiVersion": kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": POLICY},
            "spec": {
                "policyName": POLICY, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector},
            },
        }));
        // It is in force when the API server has read it.
        let nad = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "probe", "namespace": namespace}, "spec": {"config": "{}"},
        });
        eventually("the policy is in force", || {
            match crate::support::cluster::try_run(
                "kubectl",
                &["apply", "--dry-run=server", "-f", "-"],
                &nad.to_string(),
            ) {
                Ok(_) => Err("the definition is accepted".to_owned()),
                Err(_) => Ok(()),
            }
        });
        Self
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
            kubectl(&["delete", kind, POLICY, "--ignore-not-found", timeout()]);
        }
    }
}

fn has_definition(namespace: &str, network: &str) -> Result<(), String> {
    check(get(&["net-attach-def", network, "-n", namespace]).is_some(), "there is none")
}

#[test]
fn a_namespace_that_refuses_its_definition_is_named_and_the_network_is_ready() {
    let (policed, limited, other) = (Scene::new("refuse-a"), Scene::new("refuse-b"), Scene::new("refuse-c"));
    for scene in [&policed, &limited, &other] {
        kubectl(&["label", "namespace", &scene.name, "refuses=x", "--overwrite"]);
    }
    apply(&quota(&limited, 0));
    eventually("the quota is counted", || {
        let quota = get(&["resourcequota", "definitions", "-n", &limited.name]).unwrap_or_default();
        check(quota["status"]["hard"][DEFINITIONS] == "0", quota.to_string())
    });
    let policy = Policy::create(&policed.name);
    let spec = json!({"port": {"type": "Veth"}, "namespaceSelector": {"matchLabels": {"refuses": "x"}}});
    other.apply_network("refuse", &spec);
    wait_ready("refuse");
    let message = await_condition("refuse", "DefinitionsReady", "False", "DefinitionRefused");
    println!("{message}");
    for words in ["namespaces refuse-a, refuse-b refuse", "every definition needs the label team"] {
        assert!(message.contains(words), "{message}");
    }
    eventually("the definition of the other namespace", || has_definition(&other.name, "refuse"));
    await_condition("refuse", "Ready", "True", "AllNodes");
    let explained = usnet_with_input(&["explain", "network", "refuse"], "");
    assert_eq!(explained.status, 0, "the network is Ready: {explained:?}");
    for words in ["refuse-a", "needs the label team", "raise the quota"] {
        assert!(explained.stdout.contains(words), "{explained:?}");
    }
    let events = || {
        let all = get(&["events", "--field-selector", "involvedObject.name=refuse,reason=DefinitionRefused"]);
        let all = all.unwrap_or_default()["items"].take();
        all.as_array().map(|all| all.iter().map(|event| event["type"].clone()).collect::<Vec<_>>()).unwrap_or_default()
    };
    eventually("an event", || check(events() == ["Warning"], format!("{:?}", events())));

    // Once the policy is gone, what is left is the quota; once that is larger, nothing.
    drop(policy);
    eventually("the definition of a namespace whose policy is gone", || has_definition(&policed.name, "refuse"));
    eventually("the words of the quota", || {
        let message = await_condition("refuse", "DefinitionsReady", "False", "DefinitionRefused");
        check(message.contains("namespace refuse-b refuses") && message.contains("exceeded quota"), message)
    });
    apply(&quota(&limited, 5));
    await_condition("refuse", "DefinitionsReady", "True", "Synced");
    assert_eq!(has_definition(&limited.name, "refuse"), Ok(()));
    await_condition("refuse", "Ready", "True", "AllNodes");
}
