//! A resource claim of the API server, and what it allocates on this node. No IO.

use super::names;
use super::port_request::{self, PortRequest};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use usnet_common::api::device_api::{DRIVER, device_api_kind};
use usnet_dataplane::attachment::{ClaimUid, Pod};

/// Set by Kubernetes on a claim of a template: the name of the claim in the pod.
const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";
/// Set by Kubernetes on a claim that it creates for extended resources of a pod.
const EXTENDED_RESOURCE: &str = "resource.kubernetes.io/extended-resource-claim";

/// How much of an invalid name an error quotes, in characters.
const REPEATED_MAX: usize = 100;

/// Why a claim cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("claim {0} was replaced by another one of that name; the pod needs to be recreated")]
    Replaced(String),
    #[error("claim {0} is not allocated")]
    NotAllocated(String),
    #[error("claim {0} has no device of driver {DRIVER}")]
    NoDevice(String),
    #[error("device {device} of claim {claim} belongs to node {pool}, and this is node {node}")]
    OtherNode { claim: String, device: String, pool: String, node: String },
    #[error(
        "claim {claim} is reserved for {pods} pods, and a port is for one pod: give each pod its own claim with a ResourceClaimTemplate"
    )]
    Shared { claim: String, pods: usize },
    #[error("claim {0} is reserved for {1}, and not for a pod")]
    NotForPod(String, String),
    #[error("the uid of claim {0} or of its pod is not valid")]
    Uid(String, #[source] usnet_dataplane::attachment::InvalidIdentifier),
    #[error(
        "{what} of claim {claim} is {found:?}, and becomes part of paths in containers: it must be {expected}. Kubernetes sets valid values; recreate the claim without this one"
    )]
    Name { what: &'static str, claim: String, found: String, expected: &'static str },
    #[error(transparent)]
    Parameters(#[from] port_request::Error),
}

/// A ResourceClaim, with only the fields that are read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ResourceClaim {
    pub(super) metadata: ObjectMeta,
    #[serde(default, skip_serializing)]
    pub(super) status: Status,
}

device_api_kind!(ResourceClaim, "resourceclaims", NamespaceResourceScope);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    allocation: Option<AllocationResult>,
    reserved_for: Vec<Consumer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct AllocationResult {
    devices: AllocatedDevices,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct AllocatedDevices {
    results: Vec<AllocatedDevice>,
    config: Vec<Config>,
}

#[derive(Debug, Clone, Deserialize)]
struct AllocatedDevice {
    request: String,
    driver: String,
    pool: String,
    device: String,
    #[serde(default, rename = "shareID")]
    share_id: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Config {
    source: String,
    #[serde(default)]
    requests: Vec<String>,
    #[serde(default)]
    opaque: Option<Opaque>,
}

#[derive(Debug, Clone, Deserialize)]
struct Opaque {
    driver: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Debug, Clone, Deserialize)]
struct Consumer {
    resource: String,
    name: String,
    uid: String,
}

/// What a claim allocates on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocation {
    pub(super) uid: ClaimUid,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) generation: i64,
    pub(super) pod_claim_name: Option<String>,
    pub(super) is_of_extended_resource: bool,
    pub(super) pod: Pod,
    pub(super) devices: Vec<Allocated>,
}

/// One device of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocated {
    /// The name of the request, without the part after `/`, which names one of several
    /// alternatives.
    pub(super) request: String,
    pub(super) pool: String,
    pub(super) device: String,
    pub(super) share_id: Option<String>,
    pub(super) port: PortRequest,
}

impl Allocation {
    /// Returns what `claim` allocates on this node. The uid excludes another claim of the same
    /// name.
    pub(super) fn of(claim: &ResourceClaim, uid: &ClaimUid, node: &str) -> Result<Self, Error> {
        let metadata = &claim.metadata;
        let (namespace, name) = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone());
        let name = name.unwrap_or_default();
        let text = format!("{namespace}/{name}");
        if metadata.uid.as_deref() != Some(uid.as_str()) {
            return Err(Error::Replaced(text));
        }
        let allocation = claim.status.allocation.as_ref().ok_or_else(|| Error::NotAllocated(text.clone()))?;
        let devices = devices(allocation, &text, node)?;
        let annotations = metadata.annotations.as_ref();
        let pod_claim_name = annotations.and_then(|all| all.get(POD_CLAIM_NAME)).cloned();
        check_names(&text, metadata, pod_claim_name.as_deref(), &devices)?;
        Ok(Self {
            pod: pod(&claim.status.reserved_for, &namespace, &text)?,
            uid: uid.clone(),
            generation: metadata.generation.unwrap_or_default(),
            pod_claim_name,
            is_of_extended_resource: annotations.is_some_and(|all| all.contains_key(EXTENDED_RESOURCE)),
            namespace,
            name,
            devices,
        })
    }
}

/// Checks the names that become parts of paths and variables of containers. The annotation is free
/// text by the author of the claim. The other names were checked by the API server, whose rules may
/// change.
fn check_names(
    claim: &str,
    metadata: &ObjectMeta,
    pod_claim_name: Option<&str>,
    devices: &[Allocated],
) -> Result<(), Error> {
    let of_claim = [("the namespace", metadata.namespace.as_deref()), ("the name", metadata.name.as_deref())];
    let annotation = [("the annotation resource.kubernetes.io/pod-claim-name", pod_claim_name)];
    let requests = devices.iter().map(|device| ("a request", Some(device.request.as_str())));
    let shares = devices.iter().map(|device| ("a share", device.share_id.as_deref()));
    let (label, subdomain) = (names::is_dns_label as fn(&str) -> bool, names::is_dns_subdomain as fn(&str) -> bool);
    let labels = annotation.into_iter().chain(requests).map(|(what, name)| (what, name, label, "a DNS label"));
    let subdomains = of_claim.into_iter().chain(shares).map(|(what, name)| (what, name, subdomain, "a DNS subdomain"));
    for (what, name, is_valid, expected) in labels.chain(subdomains) {
        if let Some(found) = name.filter(|name| !is_valid(name)) {
            let found = found.chars().take(REPEATED_MAX).collect();
            return Err(Error::Name { what, claim: claim.to_owned(), found, expected });
        }
    }
    Ok(())
}

fn devices(allocation: &AllocationResult, claim: &str, node: &str) -> Result<Vec<Allocated>, Error> {
    let mut found = Vec::new();
    for result in allocation.devices.results.iter().filter(|result| result.driver == DRIVER) {
        if result.pool != node {
            return Err(Error::OtherNode {
                claim: claim.to_owned(),
                device: result.device.clone(),
                pool: result.pool.clone(),
                node: node.to_owned(),
            });
        }
        found.push(Allocated {
            request: main_request(&result.request).to_owned(),
            pool: result.pool.clone(),
            device: result.device.clone(),
            share_id: result.share_id.clone(),
            port: port_request(&allocation.devices.config, &result.request)?,
        });
    }
    if found.is_empty() { Err(Error::NoDevice(claim.to_owned())) } else { Ok(found) }
}

/// Returns the parameters for a request: those of the class, overridden by those of the claim.
fn port_request(all: &[Config], request: &str) -> Result<PortRequest, port_request::Error> {
    let applies = |config: &&Config| {
        config.requests.is_empty() || config.requests.iter().any(|it| it == request || it == main_request(request))
    };
    let (of_classes, of_claims): (Vec<_>, Vec<_>) =
        all.iter().filter(applies).partition(|config| config.source == "FromClass");
    let mut merged = PortRequest::default();
    for opaque in of_classes.into_iter().chain(of_claims).filter_map(|config| config.opaque.as_ref()) {
        if opaque.driver == DRIVER {
            merged = merged.overridden_by(PortRequest::parse(main_request(request), &opaque.parameters)?);
        }
    }
    Ok(merged)
}

fn main_request(request: &str) -> &str {
    request.split('/').next().unwrap_or(request)
}

/// The only pod that the claim is reserved for.
fn pod(reserved_for: &[Consumer], namespace: &str, claim: &str) -> Result<Pod, Error> {
    match reserved_for {
        [consumer] if consumer.resource == "pods" => {
            let uid = consumer.uid.parse().map_err(|error| Error::Uid(claim.to_owned(), error))?;
            Ok(Pod { namespace: namespace.to_owned(), name: consumer.name.clone(), uid })
        }
        [other] => Err(Error::NotForPod(claim.to_owned(), format!("{} {}", other.resource, other.name))),
        several => Err(Error::Shared { claim: claim.to_owned(), pods: several.len() }),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A claim from a template for a port of `blue`, as kube-apiserver 1.36 returns it.
    pub(in crate::claims) fn claim() -> Value {
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {
                "name": "web-uplink-x7", "namespace": "default", "uid": "c-1", "generation": 2,
                "annotations": {"resource.kubernetes.io/pod-claim-name": "uplink"},
            },
            "spec": {"devices": {"requests": [{"name": "port", "exactly": {"deviceClassName": "usnet"}}]}},
            "status": {
                "allocation": {
                    "devices": {
                        "results": [{
                            "driver": "usnet.dev", "pool": "node-a", "device": "blue", "request": "port",
                            "shareID": "s-1", "consumedCapacity": {"ports": "1"},
                        }],
                        "config": [{
                            "source": "FromClaim", "requests": ["port"],
                            "opaque": {"driver": "usnet.dev", "parameters": {
                                "apiVersion": "usnet.dev/v1alpha1", "kind": "PortRequest", "interface": "net7",
                            }},
                        }],
                    },
                    "nodeSelector": {"nodeSelectorTerms": []},
                },
                "reservedFor": [{"resource": "pods", "name": "web", "uid": "p-1"}],
            },
        })
    }

    fn allocation(claim: &Value) -> Result<Allocation, Error> {
        Allocation::of(&serde_json::from_value(claim.clone()).unwrap(), &"c-1".parse().unwrap(), "node-a")
    }

    fn refusal(claim: &Value) -> String {
        allocation(claim).unwrap_err().to_string()
    }

    #[test]
    fn a_claim_is_read() {
        let read = allocation(&claim()).unwrap();
        assert_eq!((read.pod_claim_name.as_deref(), read.pod.to_string().as_str()), (Some("uplink"), "default/web"));
        let [device] = read.devices.as_slice() else { panic!("{read:?}") };
        assert_eq!((device.request.as_str(), device.device.as_str()), ("port", "blue"));
        assert_eq!(device.share_id.as_deref(), Some("s-1"));
        assert_eq!(device.port.interface.as_ref().map(|name| name.as_str()), Some("net7"));
    }

    #[test]
    fn a_claim_of_an_extended_resource_is_known_by_its_annotation() {
        assert!(!allocation(&claim()).unwrap().is_of_extended_resource);
        let mut extended = claim();
        extended["metadata"]["annotations"] = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
        let read = allocation(&extended).unwrap();
        assert!(read.is_of_extended_resource && read.pod_claim_name.is_none());
    }

    #[test]
    fn a_name_that_is_no_dns_label_is_refused() {
        let long = "a".repeat(64);
        for name in [
            "../../../../etc",
            "/usr/bin",
            "/proc/self",
            "a\nUSNET_EVIL=1",
            "a\0b",
            "",
            ".",
            "..",
            "a.b",
            "A",
            "-a",
            "a-",
            "a=b",
            "a b",
            "ä",
            &long,
        ] {
            let mut evil = claim();
            evil["metadata"]["annotations"][POD_CLAIM_NAME] = json!(name);
            let refused = refusal(&evil);
            assert!(refused.contains("pod-claim-name of claim default/web-uplink-x7 is"), "{name:?}: {refused}");
            assert!(!refused.contains('\n') && !refused.contains('\0'), "{refused}");
            let mut evil = claim();
            evil["status"]["allocation"]["devices"]["results"][0]["request"] = json!(name.replace('/', "|"));
            assert!(refusal(&evil).contains("a request of claim"), "{name:?}");
        }
        for name in ["a", "uplink-2", &"a".repeat(63)] {
            let mut good = claim();
            good["metadata"]["annotations"][POD_CLAIM_NAME] = json!(name);
            assert_eq!(allocation(&good).unwrap().pod_claim_name.as_deref(), Some(name));
        }
    }

    #[test]
    fn an_alternative_is_known_by_its_main_request() {
        let mut any = claim();
        any["status"]["allocation"]["devices"]["results"][0]["request"] = json!("port/second");
        let read = allocation(&any).unwrap();
        let device = read.devices.first().unwrap();
        assert_eq!((device.request.as_str(), device.port.interface.is_some()), ("port", true));
    }

    #[test]
    fn the_class_is_overridden_whatever_the_order() {
        let mut both = claim();
        let class = json!({
            "source": "FromClass",
            "opaque": {"driver": "usnet.dev", "parameters": {
                "apiVersion": "usnet.dev/v1alpha1", "kind": "PortRequest", "interface": "net1", "ips": ["10.1.0.1/24"],
            }},
        });
        both["status"]["allocation"]["devices"]["config"].as_array_mut().unwrap().push(class);
        let port = allocation(&both).unwrap().devices.remove(0).port;
        assert_eq!(port.interface.as_ref().map(|name| name.as_str()), Some("net7"));
        assert_eq!(port.runtime_config()["ips"], json!(["10.1.0.1/24"]));
    }

    #[test]
    fn devices_and_parameters_of_other_drivers_are_not_ours() {
        let mut other = claim();
        other["status"]["allocation"]["devices"]["config"][0]["opaque"]["driver"] = json!("example.org");
        assert_eq!(allocation(&other).unwrap().devices.first().unwrap().port, PortRequest::default());
        other["status"]["allocation"]["devices"]["results"][0]["driver"] = json!("example.org");
        assert_eq!(refusal(&other), "claim default/web-uplink-x7 has no device of driver usnet.dev");
    }

    #[test]
    fn a_claim_that_cannot_be_prepared_says_why() {
        let mut replaced = claim();
        replaced["metadata"]["uid"] = json!("c-2");
        assert!(refusal(&replaced).contains("replaced"));
        let mut free = claim();
        free["status"] = json!({});
        assert!(refusal(&free).contains("not allocated"));
        let mut elsewhere = claim();
        elsewhere["status"]["allocation"]["devices"]["results"][0]["pool"] = json!("node-b");
        assert!(refusal(&elsewhere).contains("node-b"));
        let mut shared = claim();
        let second = json!({"resource": "pods", "name": "other", "uid": "p-2"});
        shared["status"]["reservedFor"].as_array_mut().unwrap().push(second);
        assert!(refusal(&shared).contains("reserved for 2 pods"));
        let mut unknown = claim();
        unknown["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"]["colour"] = json!("red");
        assert!(refusal(&unknown).contains("not a PortRequest"));
        let mut other = claim();
        other["status"]["reservedFor"][0]["resource"] = json!("vms");
        assert!(refusal(&other).contains("vms web"));
    }
}
