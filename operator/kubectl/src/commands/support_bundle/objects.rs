//! Collects objects of the API server as YAML.

use super::Collection;
use crate::api::is_unknown_kind;
use crate::error::Error;
use crate::model::Snapshot;
use serde_json::Value;
use usnet_common::api::device_api::DRIVER;
use usnet_common::release::Build;
use usnet_crds::userspace_engine::NAMESPACE as ENGINES;

/// A file, the path of its objects in the API, and which of them are kept.
struct Kind {
    file: &'static str,
    path: String,
    is_kept: fn(&Value) -> bool,
}

/// Any tenant writes these objects for any plugin, so only their known fields are kept.
const DEFINITIONS: &str = "network-attachment-definitions";
/// Claims of any tenant have settings of any driver.
const CLAIMS: &str = "resourceclaims";

/// What usnet runs engines with, if there is a UserspaceEngine.
fn kinds_of_engines() -> Vec<Kind> {
    let kind = |file, path: String| Kind { file, path, is_kept: |_| true };
    let core = |name: &str| format!("/api/v1/namespaces/{ENGINES}/{name}");
    let apps = |name: &str| format!("/apis/apps/v1/namespaces/{ENGINES}/{name}");
    vec![
        kind("pods-of-engines", core("pods")),
        kind("events-of-engines", core("events")),
        kind("configmaps-of-engines", core("configmaps")),
        kind("deployments-of-engines", apps("deployments")),
        kind("daemonsets-of-engines", apps("daemonsets")),
    ]
}

fn kinds(usnet: &str) -> Vec<Kind> {
    let all: fn(&Value) -> bool = |_| true;
    let kind = |file, path: String, is_kept| Kind { file, path, is_kept };
    let of_usnet = |name: &str| format!("/apis/usnet.dev/v1alpha1/{name}");
    let core = |name: &str| format!("/api/v1/namespaces/{usnet}/{name}");
    let devices = |name: &str| format!("/apis/resource.k8s.io/v1/{name}");
    let apps = |name: &str| format!("/apis/apps/v1/namespaces/{usnet}/{name}");
    vec![
        kind("userspacenetworks", of_usnet("userspacenetworks"), all),
        kind("compilednetworks", of_usnet("compilednetworks"), all),
        kind("compiledpolicies", of_usnet("compiledpolicies"), all),
        kind("userspaceuplinks", of_usnet("userspaceuplinks"), all),
        kind("userspacenodestates", of_usnet("userspacenodestates"), all),
        kind("userspacenodeslices", of_usnet("userspacenodeslices"), all),
        kind("userspacepodslices", of_usnet("userspacepodslices"), all),
        kind("userspaceattachments", of_usnet("userspaceattachments"), all),
        kind("userspacereservations", of_usnet("userspacereservations"), all),
        kind("userspaceengines", of_usnet("userspaceengines"), all),
        kind("deviceclasses", devices("deviceclasses"), |object| is_of_usnet(text(object, "/metadata/name"))),
        kind("resourceslices", devices("resourceslices"), |object| text(object, "/spec/driver") == DRIVER),
        kind(CLAIMS, devices("resourceclaims"), is_for_usnet),
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

/// Whether a DeviceClass has a name of usnet, by which claims request its devices.
fn is_of_usnet(class: &str) -> bool {
    class.starts_with("usnet")
}

/// Whether a ResourceClaim requests or has a device of usnet.
fn is_for_usnet(claim: &Value) -> bool {
    let items = |pointer: &str| claim.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let requests = |request: &Value| {
        let class = |pointer: &str| is_of_usnet(text(request, pointer));
        let any = request.get("firstAvailable").and_then(Value::as_array).into_iter().flatten();
        class("/exactly/deviceClassName") || any.map(|it| text(it, "/deviceClassName")).any(is_of_usnet)
    };
    items("/spec/devices/requests").any(requests)
        || items("/status/allocation/devices/results").any(|result| text(result, "/driver") == DRIVER)
}

/// Removes what a claim configures for drivers of others.
fn without_other_drivers(claim: &mut Value) {
    for pointer in ["/spec/devices/config", "/status/allocation/devices/config"] {
        if let Some(Value::Array(entries)) = claim.pointer_mut(pointer) {
            entries.retain(|entry| text(entry, "/opaque/driver") == DRIVER);
        }
    }
}

/// Reads all objects before the first file is written: a secret of one may occur in another.
pub(super) async fn collect(collection: &mut Collection<'_>, snapshot: &Snapshot) -> Result<(), Error> {
    let mut files = Vec::new();
    let mut kinds = kinds(&collection.cluster.usnet_namespace);
    if !snapshot.engines.is_empty() {
        kinds.extend(kinds_of_engines());
    }
    for Kind { file, path, is_kept } in kinds {
        match collection.cluster.list_raw(file, &path).await {
            Ok(mut objects) => {
                objects.retain(is_kept);
                let redactor = &mut collection.redactor;
                let mut reduce = |object: &mut Value| match file {
                    DEFINITIONS => redactor.definition(object),
                    CLAIMS => {
                        without_other_drivers(object);
                        redactor.document(object);
                    }
                    _ => redactor.document(object),
                };
                objects.iter_mut().for_each(&mut reduce);
                files.push((file, objects));
            }
            // Without Multus there are no NetworkAttachmentDefinitions, and old releases of
            // Kubernetes have no ResourceClaims.
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
            let versions = format!("kubectl usnet {}\nKubernetes {}\n", Build::current(), version.git_version);
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

    #[test]
    fn claims_for_usnet_are_kept_without_settings_of_other_drivers() {
        let requested =
            |class: &str| json!({"spec": {"devices": {"requests": [{"exactly": {"deviceClassName": class}}]}}});
        assert!(is_for_usnet(&requested("usnet-blue")) && !is_for_usnet(&requested("gpu")));
        let config = |driver: &str| json!({"opaque": {"driver": driver, "parameters": {"pin": driver}}});
        let mut allocated = json!({
            "spec": {"devices": {"requests": [{"firstAvailable": [{"deviceClassName": "mine"}]}], "config": [config("gpu.example")]}},
            "status": {"allocation": {"devices": {"results": [{"driver": DRIVER}], "config": [config(DRIVER), config("gpu.example")]}}},
        });
        assert!(is_for_usnet(&allocated));
        without_other_drivers(&mut allocated);
        assert_eq!(allocated["spec"]["devices"]["config"], json!([]));
        assert_eq!(allocated["status"]["allocation"]["devices"]["config"], json!([config(DRIVER)]));
    }
}
