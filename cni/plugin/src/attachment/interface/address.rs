//! Addresses and routes of the interface in the pod, with the semantics of the reference CNI
//! plugins: a route without a gateway uses the first gateway of its family.

use super::link::execute;
use crate::protocol::result::{AssignedAddress, Assignment, Route};
use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use serde_json::Value;
use std::net::IpAddr;
use usnet_dataplane::netlink::{Netlink, NetlinkError};

/// The maximum number of default routes that are removed. A pod has one or two of them; this only
/// bounds the loop, so that a program in the pod that adds routes continuously does not keep ADD
/// running.
const DEFAULT_ROUTES_MAX: usize = 64;

/// Adds an address to the device. Duplicate address detection of IPv6 is disabled: IPAM guarantees
/// that the address is unique, and the pod's program would have to wait.
pub(super) fn add(netlink: &mut Netlink, device: u32, address: IpNet) -> Result<(), NetlinkError> {
    let mut message = AddressMessage::default();
    message.header.family = family(address.addr());
    message.header.prefix_len = address.prefix_len();
    message.header.index = device;
    message.attributes = vec![AddressAttribute::Local(address.addr()), AddressAttribute::Address(address.addr())];
    if address.addr().is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    execute(netlink, RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
}

pub(super) fn list(netlink: &mut Netlink, device: u32) -> Result<Vec<IpNet>, NetlinkError> {
    let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
    let answers: Vec<RouteNetlinkMessage> = netlink.request(request, NLM_F_DUMP)?;
    let of_device = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewAddress(message) if message.header.index == device => Some(message),
        _ => None,
    });
    let address = |message: AddressMessage| {
        let address = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        });
        IpNet::new(address?, message.header.prefix_len).ok()
    };
    Ok(of_device.filter_map(address).collect())
}

pub(super) fn add_route(
    netlink: &mut Netlink,
    device: u32,
    route: &Route,
    assignment: &Assignment,
) -> Result<(), NetlinkError> {
    let message = route_message(device, route, gateway(route, &assignment.ips));
    // The pod may have the same route over another interface, like the default route over eth0. For
    // IPv4 the kernel prefers the newer one.
    execute(netlink, RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE)
}

/// Removes the default routes of a gateway's family, on all interfaces.
pub(super) fn remove_default_routes(netlink: &mut Netlink, gateway: IpAddr) -> Result<(), NetlinkError> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(gateway);
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    // This value is a wildcard for the scope.
    message.header.scope = RouteScope::NoWhere;
    for _ in 0..DEFAULT_ROUTES_MAX {
        match execute(netlink, RouteNetlinkMessage::DelRoute(message.clone()), 0) {
            Ok(()) => {}
            Err(error) if error.is(Errno::ESRCH) || error.is(Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The gateway of a route; none when the destination is on the link.
fn gateway(route: &Route, addresses: &[AssignedAddress]) -> Option<IpAddr> {
    let is_of_family = |gateway: &IpAddr| gateway.is_ipv4() == route.dst.addr().is_ipv4();
    route.gw.or_else(|| addresses.iter().filter_map(|address| address.gateway).find(is_of_family))
}

fn route_message(device: u32, route: &Route, gateway: Option<IpAddr>) -> RouteMessage {
    let number =
        |key: &str| route.since_1_1.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let mut message = RouteMessage::default();
    message.header.address_family = family(route.dst.addr());
    message.header.destination_prefix_length = route.dst.prefix_len();
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    let scope = if gateway.is_none() { RouteScope::Link } else { RouteScope::Universe };
    message.header.scope = number("scope").and_then(|scope| u8::try_from(scope).ok()).map_or(scope, RouteScope::from);
    let table = number("table").unwrap_or(RouteHeader::RT_TABLE_MAIN.into());
    // A table number that does not fit the header's byte is only in the attribute.
    message.header.table = u8::try_from(table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
    let destination = RouteAttribute::Destination(RouteAddress::from(route.dst.trunc().addr()));
    message.attributes = vec![destination, RouteAttribute::Oif(device), RouteAttribute::Table(table)];
    message.attributes.extend(gateway.map(|gateway| RouteAttribute::Gateway(RouteAddress::from(gateway))));
    message.attributes.extend(number("priority").map(RouteAttribute::Priority));
    let metrics = [number("mtu").map(RouteMetric::Mtu), number("advmss").map(RouteMetric::Advmss)];
    let metrics: Vec<RouteMetric> = metrics.into_iter().flatten().collect();
    if !metrics.is_empty() {
        message.attributes.push(RouteAttribute::Metrics(metrics));
    }
    message
}

const fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn route(route: Value) -> Route {
        serde_json::from_value(route).unwrap()
    }

    #[test]
    fn a_route_uses_its_gateway_or_the_first_of_its_family_or_none() {
        let addresses: Vec<AssignedAddress> = serde_json::from_value(json!([
            {"address": "fd00::5/64", "gateway": "fd00::1"}, {"address": "10.0.0.5/24"},
            {"address": "10.0.1.5/24", "gateway": "10.0.1.1"}, {"address": "10.0.2.5/24", "gateway": "10.0.2.1"},
        ]))
        .unwrap();
        let over = |text: Value| gateway(&route(text), &addresses).map(|gateway| gateway.to_string());
        assert_eq!(over(json!({"dst": "0.0.0.0/0"})).as_deref(), Some("10.0.1.1"));
        assert_eq!(over(json!({"dst": "::/0"})).as_deref(), Some("fd00::1"));
        assert_eq!(over(json!({"dst": "10.9.0.0/16", "gw": "10.0.0.9"})).as_deref(), Some("10.0.0.9"));
        assert_eq!(gateway(&route(json!({"dst": "10.9.0.0/16"})), &[]), None);
    }

    #[test]
    fn what_version_1_1_added_to_routes_is_set() {
        let route_value =
            json!({"dst": "10.9.1.1/16", "mtu": 1300, "advmss": 1200, "priority": 7, "table": 1000, "scope": 253});
        let message = route_message(3, &route(route_value), None);
        assert_eq!((message.header.table, message.header.scope), (0, RouteScope::Link));
        let expected = [
            RouteAttribute::Destination(RouteAddress::Inet("10.9.0.0".parse().unwrap())),
            RouteAttribute::Oif(3),
            RouteAttribute::Table(1000),
            RouteAttribute::Priority(7),
            RouteAttribute::Metrics(vec![RouteMetric::Mtu(1300), RouteMetric::Advmss(1200)]),
        ];
        assert_eq!(message.attributes, expected);
    }

    #[test]
    fn a_route_without_a_gateway_has_link_scope() {
        let of = |gateway| route_message(3, &route(json!({"dst": "10.9.0.0/16"})), gateway).header.scope;
        assert_eq!((of(None), of("10.0.0.1".parse().ok())), (RouteScope::Link, RouteScope::Universe));
    }
}
