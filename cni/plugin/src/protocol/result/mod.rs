//! The result of ADD, in the version of the configuration.
//!
//! It has the interface in the pod and, for a veth pair, the end on the node, by which plugins
//! later in a list find the device of the node. The interface in the pod comes first: Multus writes
//! one network status for each interface that has a `sandbox`.

use crate::protocol::version::SpecVersion;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::path::Path;
use usnet_crds::MacAddress;

/// The addresses and routes of an interface, in the format in which an IPAM plugin returns them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    #[serde(default)]
    pub ips: Vec<AssignedAddress>,
    /// The routes that the pod's program should have.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// The name servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Value>,
}

impl Assignment {
    /// The assignment as a record keeps it, for an ADD that is repeated.
    pub fn recorded(&self) -> Option<Value> {
        if *self == Self::default() { None } else { serde_json::to_value(self).ok() }
    }

    /// The assignment that a record has kept; none if it cannot be read.
    pub fn from_record(recorded: Option<&Value>) -> Option<Self> {
        recorded.map_or_else(|| Some(Self::default()), |kept| Self::deserialize(kept).ok())
    }

    /// Replaces the default routes of these gateways' families by routes over these gateways.
    pub fn set_default_routes(&mut self, gateways: &[IpAddr]) {
        self.routes.retain(|route| !gateways.iter().any(|gateway| route.dst == default_destination(*gateway)));
        let route =
            |gateway: &IpAddr| Route { dst: default_destination(*gateway), gw: Some(*gateway), since_1_1: Map::new() };
        self.routes.extend(gateways.iter().map(route));
    }
}

/// The destination of the default route of an address's family.
fn default_destination(address: IpAddr) -> IpNet {
    match address {
        IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
        IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignedAddress {
    /// The address with the length of its prefix.
    pub address: IpNet,
    /// The gateway of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The destination; `0.0.0.0/0` or `::/0` for a default route.
    pub dst: IpNet,
    /// The gateway; none means the gateway of an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// The keys `mtu`, `advmss`, `priority`, `table` and `scope`, which version 1.1.0 added.
    #[serde(flatten)]
    pub since_1_1: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// The name in the pod.
    pub name: &'a str,
    pub mac: &'a str,
    /// The largest payload, in bytes.
    pub mtu: u16,
    /// The pod's network namespace, as the caller named it.
    pub sandbox: &'a Path,
    /// The path of the socket on the node, if the interface has one.
    pub socket: Option<&'a Path>,
    /// The end of the interface on the node, if it is a veth pair.
    pub device: Option<HostDevice<'a>>,
}

/// The end of the interface on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostDevice<'a> {
    pub name: &'a str,
    pub mac: MacAddress,
}

/// The result of a call that attached nothing: the result of the plugins before this one.
pub fn unchanged(version: SpecVersion, previous: Option<&Value>) -> Value {
    let mut result = previous.and_then(Value::as_object).cloned().unwrap_or_default();
    result.insert("cniVersion".to_owned(), version.as_str().into());
    Value::Object(result)
}

/// A result without the default routes of these gateways' families, which are replaced by others.
pub fn without_default_routes(result: &Value, gateways: &[IpAddr]) -> Value {
    let mut result = result.clone();
    let destination = |route: &Value| route.get("dst").and_then(Value::as_str)?.parse::<IpNet>().ok();
    for list in ["/routes", "/ip4/routes", "/ip6/routes"] {
        if let Some(routes) = result.pointer_mut(list).and_then(Value::as_array_mut) {
            let is_replaced = |route: &Value, gateway| destination(route) == Some(default_destination(gateway));
            routes.retain(|route| !gateways.iter().any(|gateway| is_replaced(route, *gateway)));
        }
    }
    result
}

/// The result: the interface and its addresses and routes, appended to `previous`, the result of
/// the plugins before this one.
pub fn result(
    version: SpecVersion,
    interface: Interface<'_>,
    assignment: &Assignment,
    previous: Option<&Value>,
) -> Value {
    let mut result = previous.and_then(Value::as_object).cloned().unwrap_or_default();
    result.insert("cniVersion".to_owned(), version.as_str().into());
    if let (Some(dns), false) = (&assignment.dns, result.contains_key("dns")) {
        result.insert("dns".to_owned(), dns.clone());
    }
    if version < SpecVersion::V0_3_0 {
        insert_first_addresses(&mut result, version, assignment);
        return Value::Object(result);
    }
    let on_node = interface.device.map(|device| host_entry(version, device, interface.mtu));
    let entries = [interface_entry(version, interface)].into_iter().chain(on_node);
    let position = extend(&mut result, "interfaces", entries);
    extend(&mut result, "ips", assignment.ips.iter().map(|address| address_entry(version, address, position)));
    extend(&mut result, "routes", assignment.routes.iter().map(|route| route_entry(version, route)));
    Value::Object(result)
}

/// Inserts one address of each family with its routes, which are all that a result has before
/// version 0.3.0. An address that a plugin before this one has assigned stays.
fn insert_first_addresses(result: &mut Map<String, Value>, version: SpecVersion, assignment: &Assignment) {
    for (key, is_ipv4) in [("ip4", true), ("ip6", false)] {
        let mut of_family = assignment.ips.iter().filter(|ip| ip.address.addr().is_ipv4() == is_ipv4);
        let (Some(first), false) = (of_family.next(), result.contains_key(key)) else { continue };
        let routes = assignment.routes.iter().filter(|route| route.dst.addr().is_ipv4() == is_ipv4);
        let mut entry = Map::from_iter([("ip".to_owned(), json!(first.address))]);
        entry.extend(first.gateway.map(|gateway| ("gateway".to_owned(), json!(gateway))));
        extend(&mut entry, "routes", routes.map(|route| route_entry(version, route)));
        result.insert(key.to_owned(), Value::Object(entry));
    }
}

/// Appends to a list of the result, and returns its previous length. Empty lists are omitted, as
/// the specification requires.
fn extend(result: &mut Map<String, Value>, list: &str, entries: impl IntoIterator<Item = Value>) -> usize {
    let mut all = match result.remove(list) {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    let before = all.len();
    all.extend(entries);
    if !all.is_empty() {
        result.insert(list.to_owned(), Value::Array(all));
    }
    before
}

fn interface_entry(version: SpecVersion, interface: Interface<'_>) -> Value {
    let Interface { name, mac, mtu, sandbox, socket, device: _ } = interface;
    let mut entry = json!({"name": name, "mac": mac, "sandbox": sandbox});
    if version >= SpecVersion::V1_1_0
        && let Some(parts) = entry.as_object_mut()
    {
        parts.insert("mtu".to_owned(), mtu.into());
        if let Some(socket) = socket {
            parts.insert("socketPath".to_owned(), json!(socket));
        }
    }
    entry
}

/// The entry of the end on the node, which has no `sandbox`.
fn host_entry(version: SpecVersion, device: HostDevice<'_>, mtu: u16) -> Value {
    let mut entry = json!({"name": device.name, "mac": device.mac.to_string()});
    if version >= SpecVersion::V1_1_0
        && let Some(parts) = entry.as_object_mut()
    {
        parts.insert("mtu".to_owned(), mtu.into());
    }
    entry
}

fn address_entry(version: SpecVersion, assigned: &AssignedAddress, interface: usize) -> Value {
    let mut entry = json!({"address": assigned.address, "interface": interface});
    if let Some(parts) = entry.as_object_mut() {
        if let Some(gateway) = assigned.gateway {
            parts.insert("gateway".to_owned(), json!(gateway));
        }
        if version < SpecVersion::V1_0_0 {
            let family = if assigned.address.addr().is_ipv4() { "4" } else { "6" };
            parts.insert("version".to_owned(), family.into());
        }
    }
    entry
}

fn route_entry(version: SpecVersion, route: &Route) -> Value {
    if version < SpecVersion::V1_1_0 { json!(Route { since_1_1: Map::new(), ..route.clone() }) } else { json!(route) }
}

#[cfg(test)]
mod tests;
