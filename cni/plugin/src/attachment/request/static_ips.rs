//! Static addresses of a pod (`spec.attachments`): they are requested from the IPAM plugin, in the
//! form that it supports, instead of those that the pod or its network configuration requests. They
//! belong to one interface: two interfaces with the same MAC or IP address on one network would
//! receive each other's frames. Pure.

use super::host_local;
use crate::protocol::result::{AssignedAddress, Assignment};
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use usnet_crds::{InterfaceAddress, MacAddress, NetworkName};
use usnet_dataplane::attachment::{InterfaceName, Pod, Progress, Record};

/// The addresses that must be unique on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedAddresses {
    pub ips: Vec<IpAddr>,
    /// Whether the IP addresses are from `spec.attachments`; otherwise the pod requests them.
    pub are_ips_static: bool,
    /// The MAC address, if it was not generated.
    pub mac: Option<MacAddress>,
    /// Whether the MAC address is from `spec.attachments`.
    pub is_mac_static: bool,
}

/// An address of an interface that is in use by another interface on the network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, and interface {interface} of pod {holder} already has it: {}", describe_request(network, pod, address, *spec_field), advice(pod, holder, *spec_field))]
pub struct AddressInUse {
    pub network: NetworkName,
    /// The field of `spec.attachments[]` that sets the address; none when the pod requests it.
    pub spec_field: Option<&'static str>,
    /// The kind and value of the address.
    pub address: String,
    /// The pod that cannot be attached.
    pub pod: Pod,
    /// The pod that has the address.
    pub holder: Pod,
    /// The interface of the holder that has the address.
    pub interface: InterfaceName,
}

fn describe_request(network: &NetworkName, pod: &Pod, address: &str, spec_field: Option<&str>) -> String {
    match spec_field {
        Some(field) => format!(
            "network \"{network}\" reserves {address} for pod {pod} (spec.attachments[].{field} or a reservation)"
        ),
        None => format!("pod {pod} requests {address} on network \"{network}\""),
    }
}

fn advice(pod: &Pod, holder: &Pod, spec_field: Option<&str>) -> &'static str {
    // A pod of a StatefulSet that is deleted by force gets a successor before kubelet has ended it.
    let is_predecessor = pod.uid != holder.uid && (&pod.namespace, &pod.name) == (&holder.namespace, &holder.name);
    if is_predecessor {
        return "that is the sandbox of an earlier pod of this name, which kubelet has not ended yet; kubelet retries this pod until then";
    }
    match (pod.uid == holder.uid, spec_field) {
        (true, Some(_)) => "attach the pod to this network once, or remove it from spec.attachments",
        (false, Some(_)) => "delete that pod, or change spec.attachments or the reservation",
        (_, None) => "request another one, or delete that pod",
    }
}

/// Finds an address that is reserved for `record` and used by one of the `others` on its network.
pub fn find_conflict(record: &Record, reserved: &ReservedAddresses, others: &[Record]) -> Option<AddressInUse> {
    let is_attached_here = |other: &&Record| {
        let is_attached = matches!(other.progress, Progress::Attaching | Progress::Attached);
        is_attached && other.id != record.id && other.network == record.network
    };
    others.iter().filter(is_attached_here).find_map(|other| {
        let has = |ip: &&IpAddr| other.addresses.iter().any(|address| address.ip == **ip);
        let mac = reserved.mac.filter(|mac| mac.to_string() == other.mac);
        let (spec_field, address) = match (reserved.ips.iter().find(has), mac) {
            (Some(ip), _) => (reserved.are_ips_static.then_some("ips"), format!("address {ip}")),
            (None, Some(mac)) => (reserved.is_mac_static.then_some("mac"), format!("MAC address {mac}")),
            (None, None) => return None,
        };
        Some(AddressInUse {
            network: record.network.clone(),
            spec_field,
            address,
            pod: record.pod.clone(),
            holder: other.pod.clone(),
            interface: other.id.interface.clone(),
        })
    })
}

/// Adds a request for these addresses to the configuration of an IPAM plugin, unless there are
/// none.
///
/// `static` takes addresses with gateways only from its own configuration; the gateways are those
/// of the network's addresses in the same subnet. All others support the capability `ips`
/// (`runtimeConfig.ips`), like host-local, or ignore the request, which [`first_unassigned`]
/// detects.
pub fn request_static_ips(mut configuration: Value, ips: &[InterfaceAddress]) -> Value {
    let Some(parts) = configuration.as_object_mut().filter(|_| !ips.is_empty()) else { return configuration };
    remove(parts, "runtimeConfig", "ips");
    if let Some(arguments) = parts.get_mut("args").and_then(Value::as_object_mut) {
        remove(arguments, "cni", "ips");
    }
    let texts: Vec<String> = ips.iter().map(ToString::to_string).collect();
    match parts.get_mut("ipam").and_then(Value::as_object_mut) {
        Some(ipam) if ipam.get("type").and_then(Value::as_str) == Some("static") => {
            let known = ipam.remove("addresses").unwrap_or_default();
            let addresses: Vec<Value> = ips.iter().map(|ip| address(*ip, &known)).collect();
            ipam.insert("addresses".to_owned(), addresses.into());
        }
        ipam => {
            if let Some(ipam) = ipam.filter(|ipam| ipam.get("type").and_then(Value::as_str) == Some("host-local")) {
                host_local::add_ranges(ipam, ips.iter().map(|ip| ip.ip()));
            }
            let runtime = parts.entry("runtimeConfig").or_insert_with(|| json!({}));
            if let Some(runtime) = runtime.as_object_mut() {
                runtime.insert("ips".to_owned(), texts.into());
            }
        }
    }
    configuration
}

/// Whether the plugin is host-local, which merges `runtimeConfig.ips`, `args.cni.ips` and
/// `CNI_ARGS` and fails on two addresses in `CNI_ARGS`. `static` uses the first of these sources,
/// like usnet, and whereabouts only the last.
pub fn merges_all_sources(configuration: &Value) -> bool {
    configuration.pointer("/ipam/type").and_then(Value::as_str) == Some("host-local")
}

/// Reduces the sources of a plugin that merges all of them to one, with the addresses that the pod
/// requests.
pub fn request_ips(mut configuration: Value, requested: &[String]) -> Value {
    let is_needed = merges_all_sources(&configuration) && !requested.is_empty();
    if let Some(parts) = configuration.as_object_mut().filter(|_| is_needed) {
        if let Some(arguments) = parts.get_mut("args").and_then(Value::as_object_mut) {
            remove(arguments, "cni", "ips");
        }
        let runtime = parts.entry("runtimeConfig").or_insert_with(|| json!({}));
        if let Some(runtime) = runtime.as_object_mut() {
            runtime.insert("ips".to_owned(), requested.into());
        }
    }
    configuration
}

/// Removes a key from an object of the configuration, if both exist.
fn remove(parts: &mut Map<String, Value>, part: &str, key: &str) {
    if let Some(part) = parts.get_mut(part).and_then(Value::as_object_mut) {
        part.remove(key);
    }
}

/// An address for `static`, with the gateway of the configured address in the same subnet.
fn address(ip: InterfaceAddress, known: &Value) -> Value {
    let is_in_subnet = |entry: &&Value| {
        let subnet: Option<IpNet> = entry.get("address").and_then(Value::as_str).and_then(|text| text.parse().ok());
        subnet.is_some_and(|subnet| subnet.contains(&ip.ip()))
    };
    let entry = known.as_array().and_then(|entries| entries.iter().find(is_in_subnet));
    match entry.and_then(|entry| entry.get("gateway")) {
        Some(gateway) => json!({"address": ip.to_string(), "gateway": gateway}),
        None => json!({"address": ip.to_string()}),
    }
}

/// The assignment of these addresses on a network without IPAM.
pub fn assignment(ips: &[InterfaceAddress]) -> Assignment {
    let net = |ip: &InterfaceAddress| IpNet::new(ip.ip(), ip.prefix()).ok();
    let ips = ips.iter().filter_map(net).map(|address| AssignedAddress { address, gateway: None });
    Assignment { ips: ips.collect(), ..Assignment::default() }
}

/// The first static address that was not assigned: plugins that do not support the request ignore
/// it.
pub fn first_unassigned(ips: &[InterfaceAddress], assignment: &Assignment) -> Option<IpAddr> {
    let given = |ip: &IpAddr| assignment.ips.iter().any(|assigned| assigned.address.addr() == *ip);
    ips.iter().map(|ip| ip.ip()).find(|ip| !given(ip))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<InterfaceAddress> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn host_local_gets_static_ips_by_capability_and_the_pods_request_is_dropped() {
        let configuration = json!({
            "name": "blue", "ipam": {"type": "host-local"}, "args": {"cni": {"ips": ["10.0.0.66"], "x": 1}},
            "runtimeConfig": {"ips": ["10.0.0.66/24"], "mac": "02:00:00:00:00:01"}
        });
        let expected = json!({
            "name": "blue", "ipam": {"type": "host-local"}, "args": {"cni": {"x": 1}},
            "runtimeConfig": {"ips": ["10.0.0.5/24", "fd00::5/64"], "mac": "02:00:00:00:00:01"}
        });
        assert_eq!(request_static_ips(configuration.clone(), &ips(&["10.0.0.5/24", "fd00::5/64"])), expected);
        assert_eq!(request_static_ips(configuration.clone(), &[]), configuration, "nothing is static");
    }

    #[test]
    fn static_gets_addresses_with_the_gateways_of_their_subnets() {
        let addresses = json!([{"address": "10.0.0.9/24", "gateway": "10.0.0.1"}, {"address": "fd00::9/64"}]);
        let configuration = json!({"ipam": {"type": "static", "addresses": addresses, "routes": []}, "runtimeConfig": {"ips": ["10.9.9.9/8"]}});
        let expected = json!([{"address": "10.0.0.5/24", "gateway": "10.0.0.1"}, {"address": "fd00::5/64"}, {"address": "10.7.0.5/24"}]);
        let requested = request_static_ips(configuration, &ips(&["10.0.0.5/24", "fd00::5/64", "10.7.0.5/24"]));
        assert_eq!(
            requested,
            json!({"ipam": {"type": "static", "addresses": expected, "routes": []}, "runtimeConfig": {}})
        );
    }

    #[test]
    fn an_address_that_was_not_assigned_is_detected() {
        let wanted = ips(&["10.0.0.5/24", "fd00::5/64"]);
        assert_eq!(first_unassigned(&wanted, &assignment(&wanted)), None);
        assert_eq!(first_unassigned(&wanted, &assignment(&ips(&["10.0.0.5/16"]))), Some("fd00::5".parse().unwrap()));
    }

    #[test]
    fn no_advice_to_delete_a_pod_that_kubelet_is_ending() {
        let pod = |namespace: &str, name: &str, uid: &str| Pod {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.parse().unwrap(),
        };
        let new = pod("db", "mysql-0", "aaaaaaaa-0000-4000-8000-000000000002");
        let (old, other) = (
            pod("db", "mysql-0", "aaaaaaaa-0000-4000-8000-000000000001"),
            pod("db", "web", "aaaaaaaa-0000-4000-8000-000000000003"),
        );
        for spec_field in [Some("ips"), None] {
            let text = advice(&new, &old, spec_field);
            assert!(text.contains("kubelet") && !text.contains("delete"), "{text}");
            assert!(advice(&new, &other, spec_field).contains("delete that pod"));
        }
        assert!(advice(&new, &new, Some("mac")).contains("once"));
    }
}
