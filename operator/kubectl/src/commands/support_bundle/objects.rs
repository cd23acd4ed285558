//! Collects objects of the API server as YAML.

use super::Collection;
use crate::api::is_unknown_kind;
use crate::error::Error;
use serde_json::Value;

/// A file, the path of its objects in the API, and which of them are kept.
struct Kind {
    file: &'static str,
    path: String,
    is_kept: fn(&Value) -> bool,
}

/// Any tenant writes these objects for any plugin, so only their known fields are kept.
const DEFINITIONS: &str = "network-attachment-definitions";

fn kinds(usnet: &str) -> Vec<Kind> {
    let all: fn(&Value) -> bool = |_| true;
    let kind = |file, path: String, is_kept| Kind { file, path, is_kept };
    let of_usnet = |name: &str| format!("/apis/usnet.dev/v1alpha1/{name}");
    let core = |name: &str| format!("/api/v1/namespaces/{usnet}/{name}");
    let apps = |name: &str| format!("/apis/apps/v1/namespaces/{usnet}/{name}");
    vec![
        kind("userspacenetworks", of_usnet("userspacenetworks"), all),
        kind("compilednetworks", of_usnet("compilednetworks"), all),
        kind("userspaceuplinks", of_usnet("userspaceuplinks"), all),
        kind("userspacenodestates", of_usnet("userspacenodestates"), all),
        kind("userspacenodeslices", of_usnet("userspacenodeslices"), all),
        kind("nodes", "/api/v1/nodes".to_owned(), all),
        kind("namespaces", "/api/v1/namespaces".to_owned(), all),
        kind(DEFINITIONS, format!("/apis/k8s.cni.cncf.io/v1/{DEFINITIONS}"), all),
        kind("pods-of-usnet", core("pods"), all),
        kind("events-of-usnet", core("events"), all),
        kind("events-of-objects", "/api/v1/namespaces/default/events".to_owned(), is_about_usnet),
        kind("deployments", apps("deployments"), all),
        kind("daemonsets", apps("daemonsets"), all),
        kind("leases", format!("/apis/coordination.k8s.io/v1/namespaces/{usnet}/leases"), all),
        kind("policies", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies".to_owned(), |object| {
            text(object, "/metadata/name").contains("usnet")
        }),
    ]
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an event in the namespace `default`, which has those of cluster-scoped objects, is about
/// an object of usnet.
fn is_about_usnet(event: &Value) -> bool {
    text(event, "/involvedObject/apiVersion").starts_with("usnet.dev/")
}

/// Reads all objects before the first file is written: a secret of one may occur in another.
pub(super) async fn collect(collection: &mut Collection<'_>) -> Result<(), Error> {
    let mut files = Vec::new();
    for Kind { file, path, is_kept } in kinds(&collection.cluster.usnet_namespace) {
        match collection.cluster.list_raw(file, &path).await {
            Ok(mut objects) => {
                objects.retain(is_kept);
                let redactor = &mut collection.redactor;
                let mut reduce = |object| match file {
                    DEFINITIONS => redactor.definition(object),
                    _ => redactor.document(object),
                };
                objects.iter_mut().for_each(&mut reduce);
                files.push((file, objects));
            }
            // Without Multus there are no NetworkAttachmentDefinitions.
            Err(error) if is_unknown_kind(&error) => {}
            Err(error) => collection.fail(file, &error.sentence()),
        }
    }
    for (file, objects) in files {
        match serde_yaml::to_string(&objects) {
            Ok(text) => collection.add(&format!("cluster/{file}.yaml"), &text)?,
            Err(error) => collection.fail(file, &error.to_string()),
        }
    }
    let version = collection.cluster.client.apiserver_version().await;
    match version {
        Ok(version) => {
            let versions = format!("kubectl usnet {}\nKubernetes {}\n", env!("CARGO_PKG_VERSION"), version.git_version);
            collection.add("cluster/versions.txt", &versions)
        }
        Err(error) => {
            collection.fail("the version of Kubernetes", &error.to_string());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_events_about_usnet_are_kept() {
        let event = |version: &str| json!({"involvedObject": {"apiVersion": version}});
        assert!(is_about_usnet(&event("usnet.dev/v1alpha1")) && !is_about_usnet(&event("v1")));
    }
}
