//! Plans what to prepare for a claim: its record, before anything is attached. No IO.

use super::claim::{Allocated, Allocation};
use super::container::container_directory;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{DeviceId, MemifSocketKind, NetworkName, NodeNetwork, Phase, PortType};
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord};

pub(super) type Networks = BTreeMap<NetworkName, Arc<NodeNetwork>>;

/// The maximum length of a unix socket's path, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// Why a claim cannot be prepared on this node.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("device {device:?} belongs to no network of this node; see `kubectl get userspacenetworks`")]
    UnknownNetwork { device: String },
    #[error("network {0} is being deleted")]
    Draining(NetworkName),
    #[error(
        "pods of namespace {namespace} may not use network {network}, whose namespaceSelector does not select it: change the selector, or claim another network"
    )]
    Namespace { network: NetworkName, namespace: String },
    #[error(
        "network {network} has ports of type {port}, which are attached when the pod gets its network namespace, and the container runtime of this node does not call usnet then: add usnet to its list of CNI plugins (docs/without-multus.md), or use VhostUser, or Memif with socket Volume"
    )]
    NeedsNamespace { network: NetworkName, port: String },
    #[error("the pod has no free interface name left: set one in the PortRequest")]
    NoInterface,
    #[error("interface {0} is used twice in this pod: name another one in the PortRequest")]
    InterfaceTaken(InterfaceName),
    #[error(
        "the path of the socket in the container, {path}, has more than {SOCKET_PATH_MAX} bytes, so no program can use it: give claim and request shorter names"
    )]
    LongPath { path: String },
    #[error("requests {first} and {second} would share the directory {directory} in the container: rename one of them")]
    SameDirectory { first: String, second: String, directory: String },
}

/// The state of the node that the plan depends on.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) networks: Arc<Networks>,
    /// The interfaces that the pod has already.
    pub(super) taken: BTreeSet<InterfaceName>,
    /// Whether the container runtime calls usnet for each pod, so that it attaches ports that need
    /// a network namespace.
    pub(super) is_called_for_sandboxes: bool,
}

/// Returns the record of a claim that has none yet.
pub(super) fn plan(allocation: &Allocation, node: Node) -> Result<ClaimRecord, Error> {
    let mut taken = node.taken;
    let mut record = ClaimRecord {
        version: ClaimRecord::VERSION,
        uid: allocation.uid.clone(),
        namespace: allocation.namespace.clone(),
        name: allocation.name.clone(),
        generation: allocation.generation,
        pod_claim_name: allocation.pod_claim_name.clone(),
        is_of_extended_resource: allocation.is_of_extended_resource,
        pod: allocation.pod.clone(),
        ports: Vec::new(),
        is_reported: false,
    };
    for (index, allocated) in allocation.devices.iter().enumerate() {
        let network = network(allocated, &node.networks)?;
        check(network, &allocation.namespace)?;
        let needs_namespace = port_with_namespace(network);
        if let (Some(port), false) = (&needs_namespace, node.is_called_for_sandboxes) {
            return Err(Error::NeedsNamespace { network: network.name.clone(), port: port.clone() });
        }
        let interface = match &allocated.port.interface {
            Some(interface) => interface.clone(),
            None => free_interface(allocation, &taken).ok_or(Error::NoInterface)?,
        };
        if !taken.insert(interface.clone()) {
            return Err(Error::InterfaceTaken(interface));
        }
        let port = ClaimPort {
            request: allocated.request.clone(),
            pool: allocated.pool.clone(),
            device: allocated.device.clone(),
            share_id: allocated.share_id.clone(),
            network: network.name.clone(),
            directory: directory(allocation, index, allocated),
            interface,
            requested: allocated.port.runtime_config(),
            is_with_sandbox: needs_namespace.is_some(),
            attached: None,
        };
        check_directory(&record, &port)?;
        if !port.is_with_sandbox {
            check_path(&record, &port)?;
        }
        record.ports.push(port);
    }
    Ok(record)
}

/// Whether a record belongs to this allocation, and not to an earlier one of the same claim.
pub(super) fn is_of(record: &ClaimRecord, allocation: &Allocation) -> bool {
    let devices = |port: &ClaimPort| (port.request.clone(), port.device.clone(), port.share_id.clone());
    let allocated = |it: &Allocated| (it.request.clone(), it.device.clone(), it.share_id.clone());
    record.pod == allocation.pod && record.ports.iter().map(devices).eq(allocation.devices.iter().map(allocated))
}

/// The network of a device. A shared device has the name of the network; other devices are numbered
/// like those of the device plugin.
fn network<'a>(allocated: &Allocated, networks: &'a Networks) -> Result<&'a NodeNetwork, Error> {
    let unknown = || Error::UnknownNetwork { device: allocated.device.clone() };
    let name = match &allocated.share_id {
        Some(_) => allocated.device.parse().ok(),
        None => allocated.device.parse::<DeviceId>().ok().map(|id| id.network().clone()),
    };
    name.and_then(|name| networks.get(&name)).map(AsRef::as_ref).ok_or_else(unknown)
}

fn check(network: &NodeNetwork, namespace: &str) -> Result<(), Error> {
    if network.phase == Phase::Draining {
        return Err(Error::Draining(network.name.clone()));
    }
    if !network.allows(namespace) {
        return Err(Error::Namespace { network: network.name.clone(), namespace: namespace.to_owned() });
    }
    Ok(())
}

/// Describes the ports of a network, if they need the network namespace of the pod.
fn port_with_namespace(network: &NodeNetwork) -> Option<String> {
    let port = &network.port;
    match port.port_type {
        PortType::VhostUser => None,
        PortType::Memif if port.memif.socket == MemifSocketKind::Volume => None,
        PortType::Memif => Some("Memif with an abstract socket".to_owned()),
        PortType::Veth | PortType::Tap => Some(port.port_type.as_str().to_owned()),
    }
}

/// Returns a name that the pod does not use. It does not begin with `net`, because Multus names its
/// own interfaces `net1` and so on.
fn free_interface(allocation: &Allocation, taken: &BTreeSet<InterfaceName>) -> Option<InterfaceName> {
    let is_requested =
        |name: &InterfaceName| allocation.devices.iter().any(|it| it.port.interface.as_ref() == Some(name));
    let names = (1..=u16::MAX).filter_map(|number| format!("claim{number}").parse::<InterfaceName>().ok());
    let mut free = names.filter(|name| !taken.contains(name) && !is_requested(name));
    free.next()
}

/// The directory of a port: the name of the request, with a number if it has several devices.
fn directory(allocation: &Allocation, index: usize, allocated: &Allocated) -> String {
    let of_request = |other: &&Allocated| other.request == allocated.request;
    let devices = allocation.devices.iter().filter(of_request).count();
    let earlier = allocation.devices.iter().take(index).filter(of_request).count();
    if devices == 1 { allocated.request.clone() } else { format!("{}-{earlier}", allocated.request) }
}

/// Two ports may get the same directory if a request is named like another one with a number. CDI
/// would refuse the whole file.
fn check_directory(record: &ClaimRecord, port: &ClaimPort) -> Result<(), Error> {
    match record.ports.iter().find(|earlier| earlier.directory == port.directory) {
        None => Ok(()),
        Some(earlier) => Err(Error::SameDirectory {
            first: earlier.request.clone(),
            second: port.request.clone(),
            directory: port.directory.clone(),
        }),
    }
}

fn check_path(record: &ClaimRecord, port: &ClaimPort) -> Result<(), Error> {
    let path = container_directory(record, port).join(format!("{}.sock", port.interface)).display().to_string();
    if path.len() > SOCKET_PATH_MAX { Err(Error::LongPath { path }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::claim::tests::claim;
    use super::*;
    use crate::testing::network;
    use serde_json::{Value, json};
    use usnet_crds::Port;

    fn node(network: NodeNetwork, taken: &[&str]) -> Node {
        Node {
            networks: Arc::new([(network.name.clone(), Arc::new(network))].into()),
            taken: taken.iter().map(|name| name.parse().unwrap()).collect(),
            is_called_for_sandboxes: false,
        }
    }

    fn allocation(claim: &Value) -> Allocation {
        let claim = serde_json::from_value(claim.clone()).unwrap();
        Allocation::of(&claim, &"c-1".parse().unwrap(), "node-a").unwrap()
    }

    fn refusal(claim: &Value, network: NodeNetwork) -> String {
        plan(&allocation(claim), node(network, &[])).unwrap_err().to_string()
    }

    #[test]
    fn a_device_with_shares_is_its_network_and_one_without_is_counted() {
        let shared = plan(&allocation(&claim()), node(network("blue"), &[])).unwrap();
        let mut counted = claim();
        let result = &mut counted["status"]["allocation"]["devices"]["results"][0];
        result["device"] = json!("blue-3");
        result.as_object_mut().unwrap().remove("shareID");
        let counted = plan(&allocation(&counted), node(network("blue"), &[])).unwrap();
        for record in [shared, counted] {
            let port = record.ports.first().unwrap();
            assert_eq!((port.network.as_str(), port.interface.as_str()), ("blue", "net7"));
            assert_eq!(port.directory, "port");
        }
        assert!(refusal(&claim(), network("red")).contains("\"blue\" belongs to no network"));
    }

    #[test]
    fn interfaces_without_a_name_are_counted_across_the_claims_of_a_pod() {
        let mut two = claim();
        let devices = &mut two["status"]["allocation"]["devices"];
        devices["config"] = json!([]);
        let mut second = devices["results"][0].clone();
        second["shareID"] = json!("s-2");
        devices["results"].as_array_mut().unwrap().push(second);
        let record = plan(&allocation(&two), node(network("blue"), &["claim1"])).unwrap();
        let names: Vec<_> =
            record.ports.iter().map(|port| (port.interface.as_str(), port.directory.as_str())).collect();
        assert_eq!(names, [("claim2", "port-0"), ("claim3", "port-1")]);
        assert!(is_of(&record, &allocation(&two)) && !is_of(&record, &allocation(&claim())));
    }

    #[test]
    fn two_requests_do_not_share_a_directory() {
        let mut claim = claim();
        let devices = &mut claim["status"]["allocation"]["devices"];
        devices["config"] = json!([]);
        let results = devices["results"].as_array_mut().unwrap();
        for (request, share) in [("port", "s-2"), ("port-0", "s-3")] {
            let mut result = results[0].clone();
            (result["request"], result["shareID"]) = (json!(request), json!(share));
            results.push(result);
        }
        let refused = refusal(&claim, network("blue"));
        assert!(refused.starts_with("requests port and port-0 would share the directory port-0"), "{refused}");
        claim["status"]["allocation"]["devices"]["results"][2]["request"] = json!("other");
        assert!(plan(&allocation(&claim), node(network("blue"), &[])).is_ok());
    }

    #[test]
    fn what_cannot_be_prepared_says_why() {
        let blue = network("blue");
        let draining = NodeNetwork { phase: Phase::Draining, ..blue.clone() };
        assert_eq!(refusal(&claim(), draining), "network blue is being deleted");
        let of_others = NodeNetwork { namespaces: ["db"].into_iter().collect(), ..blue.clone() };
        assert!(refusal(&claim(), of_others).contains("namespace default may not use network blue"));
        let veth = NodeNetwork { port: Port { port_type: PortType::Veth, ..Port::default() }, ..blue.clone() };
        assert!(refusal(&claim(), veth).contains("type Veth, which are attached when the pod gets"));
        let mut long = claim();
        long["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = json!("a".repeat(63));
        long["status"]["allocation"]["devices"]["results"][0]["request"] = json!("b".repeat(63));
        assert!(refusal(&long, blue.clone()).contains("more than 107 bytes"));
        let taken = plan(&allocation(&claim()), node(blue, &["net7"]));
        assert!(taken.unwrap_err().to_string().contains("interface net7 is used twice"));
    }

    #[test]
    fn a_port_that_needs_a_namespace_is_left_to_the_call_for_the_sandbox() {
        let port = Port { port_type: PortType::Veth, ..Port::default() };
        let veth = NodeNetwork { port, ..network("blue") };
        let called = Node { is_called_for_sandboxes: true, ..node(veth, &[]) };
        let record = plan(&allocation(&claim()), called).unwrap();
        assert!(record.ports.iter().all(|port| port.is_with_sandbox) && record.is_prepared());
        let socket = Node { is_called_for_sandboxes: true, ..node(network("blue"), &[]) };
        let record = plan(&allocation(&claim()), socket).unwrap();
        assert!(!record.ports.iter().any(|port| port.is_with_sandbox) && !record.is_prepared());
    }
}
