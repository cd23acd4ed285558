//! The gateway of the network: it is the gateway of the pods unless their IPAM configuration names
//! another, and no pod gets its address. Pure.

use crate::attachment::ipam::IpamError;
use crate::protocol::result::Assignment;
use ipnet::IpNet;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::Gateway;

/// Sets the gateway in the ranges of host-local, which then assigns it to no pod. A range that
/// names a gateway keeps it. Other plugins do not know the gateway; [`assigned_gateway`] detects
/// that they assigned it.
pub fn set_in_ranges(mut configuration: Value, gateway: Option<&Gateway>) -> Value {
    let ipam = configuration.get_mut("ipam").and_then(Value::as_object_mut);
    let ipam = ipam.filter(|ipam| ipam.get("type").and_then(Value::as_str) == Some("host-local"));
    if let (Some(ipam), Some(gateway)) = (ipam, gateway) {
        set_in_range(ipam, gateway);
        let sets = ipam.get_mut("ranges").and_then(Value::as_array_mut).into_iter().flatten();
        let ranges = sets.filter_map(Value::as_array_mut).flatten();
        ranges.filter_map(Value::as_object_mut).for_each(|range| set_in_range(range, gateway));
    }
    configuration
}

/// Sets the gateway in a range. host-local accepts one range without a list, too.
fn set_in_range(range: &mut Map<String, Value>, gateway: &Gateway) {
    let subnet = range.get("subnet").and_then(Value::as_str).and_then(|text| text.parse::<IpNet>().ok());
    let own = subnet.and_then(|subnet| gateway.addresses.iter().find(|own| subnet.contains(&own.ip())));
    if let Some(own) = own {
        range.entry("gateway").or_insert_with(|| own.ip().to_string().into());
    }
}

/// Sets the gateway of assigned addresses that have none.
pub fn set_in_assignment(assignment: &mut Assignment, gateway: Option<&Gateway>) {
    let Some(gateway) = gateway else { return };
    for assigned in assignment.ips.iter_mut().filter(|assigned| assigned.gateway.is_none()) {
        assigned.gateway = gateway.for_address(assigned.address.addr());
    }
}

/// The address of the gateway that was assigned to the pod, if any.
pub fn assigned_gateway(assignment: &Assignment, gateway: Option<&Gateway>) -> Option<IpAddr> {
    let mut addresses = assignment.ips.iter().map(|assigned| assigned.address.addr());
    addresses.find(|address| gateway.is_some_and(|gateway| gateway.has(*address)))
}

/// The addresses to which the gateway routes packets for the pod: all that were assigned. An
/// address in no subnet of the gateway would take the packets of another network in the routing
/// domain.
pub fn routed_addresses(assignment: &Assignment, gateway: Option<&Gateway>) -> Result<BTreeSet<IpAddr>, IpamError> {
    let addresses: BTreeSet<IpAddr> = assignment.ips.iter().map(|assigned| assigned.address.addr()).collect();
    let is_outside = |address: &&IpAddr| gateway.and_then(|gateway| gateway.for_address(**address)).is_none();
    match addresses.iter().find(is_outside) {
        Some(outside) => Err(IpamError::NotInGatewaySubnet(*outside)),
        None if addresses.is_empty() => Err(IpamError::NoRoutedAddress),
        None => Ok(addresses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn gateway() -> Gateway {
        let addresses = vec!["10.1.0.9/16".parse().unwrap(), "fd00::9/64".parse().unwrap()];
        Gateway { addresses, routing_domain: None }
    }

    #[test]
    fn ranges_without_a_gateway_get_that_of_the_network() {
        let ranges = json!([
            [{"subnet": "10.1.0.0/16"}, {"subnet": "10.1.0.0/16", "gateway": "10.1.0.1"}, {"subnet": "10.2.0.0/16"}],
            [{"subnet": "fd00::/64"}], "?",
        ]);
        let configuration = json!({"name": "blue", "ipam": {"type": "host-local", "ranges": ranges}});
        let found = set_in_ranges(configuration, Some(&gateway()));
        let expected = json!([
            [
                {"subnet": "10.1.0.0/16", "gateway": "10.1.0.9"}, {"subnet": "10.1.0.0/16", "gateway": "10.1.0.1"},
                {"subnet": "10.2.0.0/16"},
            ],
            [{"subnet": "fd00::/64", "gateway": "fd00::9"}], "?",
        ]);
        assert_eq!(found["ipam"]["ranges"], expected);
        let only = json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/16"}});
        assert_eq!(set_in_ranges(only.clone(), Some(&gateway()))["ipam"]["gateway"], "10.1.0.9");
        for same in [json!({"ipam": {"type": "static", "subnet": "10.1.0.0/16"}}), json!({"ipam": 7}), json!([])] {
            assert_eq!(set_in_ranges(same.clone(), Some(&gateway())), same);
        }
        assert_eq!(set_in_ranges(only.clone(), None), only);
    }

    #[test]
    fn addresses_without_a_gateway_get_that_of_their_subnet() {
        let mut assignment: Assignment = serde_json::from_value(json!({"ips": [
            {"address": "10.1.2.3/16"}, {"address": "fd00::3/64"}, {"address": "10.1.2.4/16", "gateway": "10.1.0.1"},
            {"address": "10.7.0.1/16"},
        ]}))
        .unwrap();
        set_in_assignment(&mut assignment, Some(&gateway()));
        let found: Vec<_> = assignment.ips.iter().map(|one| one.gateway.map(|gateway| gateway.to_string())).collect();
        assert_eq!(found, [Some("10.1.0.9".to_owned()), Some("fd00::9".to_owned()), Some("10.1.0.1".to_owned()), None]);
        assert_eq!(assigned_gateway(&assignment, Some(&gateway())), None);
        assignment.ips[0].address = "10.1.0.9/16".parse().unwrap();
        assert_eq!(assigned_gateway(&assignment, Some(&gateway())), Some("10.1.0.9".parse().unwrap()));
        assert_eq!(assigned_gateway(&assignment, None), None);
    }

    #[test]
    fn only_addresses_in_a_subnet_of_the_gateway_are_routed() {
        let assignment = |ips: &[&str]| -> Assignment {
            let ips: Vec<Value> = ips.iter().map(|address| json!({"address": address})).collect();
            serde_json::from_value(json!({"ips": ips})).unwrap()
        };
        let both = routed_addresses(&assignment(&["10.1.2.3/16", "fd00::3/64"]), Some(&gateway())).unwrap();
        assert_eq!(both, ["10.1.2.3", "fd00::3"].map(|address| address.parse().unwrap()).into());
        let outside = routed_addresses(&assignment(&["10.1.2.3/16", "10.2.0.3/16"]), Some(&gateway()));
        assert!(matches!(outside, Err(IpamError::NotInGatewaySubnet(address)) if address.to_string() == "10.2.0.3"));
        assert!(matches!(routed_addresses(&assignment(&[]), Some(&gateway())), Err(IpamError::NoRoutedAddress)));
        assert!(matches!(routed_addresses(&assignment(&["10.1.2.3/16"]), None), Err(IpamError::NotInGatewaySubnet(_))));
    }
}
