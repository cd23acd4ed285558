//! The parts of a ResourceClaim that concern networks.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::core::NamespaceResourceScope;
use serde::Deserialize;
use usnet_common::api::device_api::{DRIVER, device_api_kind};

/// The DeviceClass with the ports of all networks, and the prefix of those of one network.
pub(crate) const CLASS: &str = "usnet";
/// Set by Kubernetes on a claim that it creates for the extended resources of a pod.
const EXTENDED_RESOURCE: &str = "resource.kubernetes.io/extended-resource-claim";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub namespace: String,
    pub name: String,
    /// The uid of the pod for which Kubernetes created the claim.
    pub pod: Option<String>,
    /// Whether Kubernetes created it for the extended resources of a pod.
    pub is_of_extended_resource: bool,
    pub requests: Vec<Request>,
    pub is_allocated: bool,
    /// The ports that are allocated.
    pub ports: Vec<ClaimPort>,
}

/// A request of a claim, and the DeviceClasses of its alternatives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub name: String,
    pub classes: Vec<String>,
    /// The networks that its selectors name.
    pub networks: Vec<String>,
}

/// A port of a network that is allocated to a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimPort {
    pub request: String,
    /// Empty until the agent of the node has prepared the claim, and with it the rest.
    pub network: String,
    pub interface: String,
    pub mac: String,
    /// The addresses with their prefix lengths.
    pub ips: Vec<String>,
    /// Whether the interface is attached.
    pub is_ready: bool,
    /// The path of the socket in the container; `None` if there is no such socket.
    pub socket: Option<String>,
}

impl Claim {
    /// Whether the claim is for ports of networks, as far as it says so.
    pub(crate) fn is_of_usnet(&self) -> bool {
        !self.ports.is_empty() || self.classes().any(|class| class == CLASS || network_of_class(class).is_some())
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().flat_map(|request| &request.classes).map(String::as_str)
    }
}

/// Returns the network of a DeviceClass by its name; `None` if it is for no single network.
pub(crate) fn network_of_class(class: &str) -> Option<&str> {
    class.strip_prefix(CLASS)?.strip_prefix('-').filter(|network| !network.is_empty())
}

/// A ResourceClaim as the API server has it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ResourceClaim {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

device_api_kind!(ResourceClaim, "resourceclaims", NamespaceResourceScope);

#[derive(Debug, Clone, Default, Deserialize)]
struct Spec {
    #[serde(default)]
    devices: RequestedDevices,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct RequestedDevices {
    #[serde(default)]
    requests: Vec<DeviceRequest>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeviceRequest {
    name: String,
    exactly: Option<Alternative>,
    first_available: Vec<Alternative>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Alternative {
    device_class_name: String,
    selectors: Vec<DeviceSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DeviceSelector {
    cel: Option<Cel>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Cel {
    expression: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    allocation: Option<Allocation>,
    devices: Vec<DeviceStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Allocation {
    devices: AllocatedDevices,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct AllocatedDevices {
    results: Vec<Device>,
}

/// A device of a node, by which the status of a request is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Device {
    request: String,
    driver: String,
    pool: String,
    device: String,
    #[serde(rename = "shareID")]
    share_id: Option<String>,
}

/// What the agent of the node reports of a device.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeviceStatus {
    #[serde(flatten)]
    device: Device,
    conditions: Vec<Condition>,
    network_data: NetworkData,
    data: Data,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NetworkData {
    interface_name: String,
    hardware_address: String,
    ips: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Data {
    network: String,
    directory: Option<String>,
    socket: Option<String>,
}

impl From<ResourceClaim> for Claim {
    fn from(claim: ResourceClaim) -> Self {
        let ResourceClaim { metadata, spec, status } = claim;
        let owner = metadata.owner_references.iter().flatten().find(|owner| owner.kind == "Pod");
        let annotations = metadata.annotations.as_ref();
        let is_of_extended_resource = annotations.is_some_and(|all| all.contains_key(EXTENDED_RESOURCE));
        let is_allocated = status.allocation.is_some();
        let results = status.allocation.unwrap_or_default().devices.results;
        let of_usnet = results.iter().filter(|device| device.driver == DRIVER);
        Self {
            pod: owner.map(|owner| owner.uid.clone()),
            is_of_extended_resource,
            requests: spec.devices.requests.into_iter().map(request).collect(),
            is_allocated,
            ports: of_usnet.map(|device| port(device, &status.devices)).collect(),
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
        }
    }
}

fn request(request: DeviceRequest) -> Request {
    let alternatives = || request.exactly.iter().chain(&request.first_available);
    let selectors = alternatives().flat_map(|it| &it.selectors).filter_map(|selector| selector.cel.as_ref());
    Request {
        classes: alternatives().map(|it| it.device_class_name.clone()).collect(),
        networks: selectors.filter_map(|cel| selected_network(&cel.expression)).collect(),
        name: request.name,
    }
}

/// The network in an expression such as `device.attributes['usnet.dev'].network == 'blue'`.
fn selected_network(expression: &str) -> Option<String> {
    let (_, after) = expression.split_once(&format!("['{DRIVER}'].network"))?;
    let value = after.trim_start().strip_prefix("==")?.trim_start();
    let quote = value.chars().next().filter(|first| ['\'', '"'].contains(first))?;
    value.get(1..)?.split_once(quote).map(|(name, _)| name.to_owned())
}

fn port(device: &Device, statuses: &[DeviceStatus]) -> ClaimPort {
    // The status of a device does not name its request.
    let is_it = |status: &&DeviceStatus| status.device == Device { request: String::new(), ..device.clone() };
    // The name of an alternative follows the name of its request.
    let request = device.request.split('/').next().unwrap_or_default().to_owned();
    let Some(status) = statuses.iter().find(is_it) else { return ClaimPort { request, ..ClaimPort::default() } };
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let data = &status.data;
    let socket = data.directory.as_ref().zip(data.socket.as_ref());
    ClaimPort {
        request,
        network: data.network.clone(),
        interface: status.network_data.interface_name.clone(),
        mac: status.network_data.hardware_address.clone(),
        ips: status.network_data.ips.clone(),
        is_ready: ready.is_some_and(|ready| ready.status == "True"),
        socket: socket.map(|(directory, socket)| format!("{directory}/{socket}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_ports_of_a_claim_have_what_the_agent_reports_of_their_devices() {
        let device = |name: &str| json!({"driver": "usnet.dev", "pool": "node-a", "device": name, "shareID": "s"});
        let mut allocated = device("blue");
        allocated["request"] = json!("port/second");
        let mut status = device("blue");
        status["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "Attached", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"}]);
        status["networkData"] =
            json!({"interfaceName": "claim1", "hardwareAddress": "02:00:00:00:00:01", "ips": ["10.1.2.3/24"]});
        status["data"] = json!({"network": "blue", "directory": "/run/usnet.dev/uplink/port", "socket": "claim1.sock"});
        let claim = json!({
            "metadata": {"namespace": "web", "name": "app-uplink-x7", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "app", "uid": "u"}]},
            "spec": {"devices": {"requests": [{"name": "port", "firstAvailable": [{"name": "second", "deviceClassName": "usnet-blue"}]}]}},
            "status": {
                "allocation": {"devices": {"results": [allocated, {"request": "gpu", "driver": "gpu.example", "pool": "p", "device": "d"}]}},
                "devices": [device("green"), status],
            },
        });
        let claim = Claim::from(serde_json::from_value::<ResourceClaim>(claim).unwrap());
        assert_eq!((claim.pod.as_deref(), claim.is_allocated, claim.is_of_usnet()), (Some("u"), true, true));
        assert_eq!(claim.classes().collect::<Vec<_>>(), ["usnet-blue"]);
        let [port] = claim.ports.as_slice() else { panic!("{claim:?}") };
        assert_eq!((port.request.as_str(), port.network.as_str(), port.interface.as_str()), ("port", "blue", "claim1"));
        assert_eq!(port.socket.as_deref(), Some("/run/usnet.dev/uplink/port/claim1.sock"));
        assert!(port.is_ready && port.ips == ["10.1.2.3/24"], "{port:?}");
    }

    #[test]
    fn a_class_names_its_network() {
        assert_eq!(["usnet-blue", "usnet", "usnet-", "gpu"].map(network_of_class), [Some("blue"), None, None, None]);
    }
}
