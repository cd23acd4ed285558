//! The ranges of host-local, which assigns no address outside of them. Where each node has a part
//! of a network's ranges, the static addresses of pods are in the part of no node: they get
//! additional ranges. Pure.

use ipnet::IpNet;
use serde_json::{Map, Value};
use std::net::IpAddr;

/// Adds a range for each address that is in a subnet of the ranges and in no range.
pub fn add_ranges(ipam: &mut Map<String, Value>, addresses: impl Iterator<Item = IpAddr>) {
    let Some(sets) = ipam.get_mut("ranges").and_then(Value::as_array_mut) else { return };
    let mut sets: Vec<&mut Vec<Value>> = sets.iter_mut().filter_map(Value::as_array_mut).collect();
    for address in addresses {
        if sets.iter().flat_map(|set| set.iter()).any(|range| is_in_range(range, address)) {
            continue;
        }
        let own = sets.iter_mut().find_map(|set| {
            let range = set.iter().find(|range| is_in_subnet(range, address))?.clone();
            Some((set, range))
        });
        if let Some((set, mut range)) = own
            && let Some(fields) = range.as_object_mut()
        {
            for end in ["rangeStart", "rangeEnd"] {
                fields.insert(end.to_owned(), address.to_string().into());
            }
            set.push(range);
        }
    }
}

/// The addresses that host-local assigns with this configuration, for users; none if it has no
/// ranges.
pub fn assigned(ipam: &Value) -> Option<String> {
    let sets = ipam.get("ranges").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<String> = sets.filter_map(Value::as_array).flatten().chain([ipam]).filter_map(range_text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn range_text(range: &Value) -> Option<String> {
    let text = |key: &str| range.get(key).and_then(Value::as_str);
    let subnet = text("subnet")?;
    Some(match (text("rangeStart"), text("rangeEnd")) {
        (Some(start), Some(end)) => format!("{start} to {end}"),
        (Some(start), None) => format!("those of {subnet} from {start}"),
        (None, Some(end)) => format!("those of {subnet} up to {end}"),
        (None, None) => format!("those of {subnet}"),
    })
}

fn is_in_subnet(range: &Value, address: IpAddr) -> bool {
    let subnet: Option<IpNet> = range.get("subnet").and_then(Value::as_str).and_then(|text| text.parse().ok());
    subnet.is_some_and(|subnet| subnet.contains(&address))
}

fn is_in_range(range: &Value, address: IpAddr) -> bool {
    let end = |key: &str| range.get(key).and_then(Value::as_str).and_then(|text| text.parse::<IpAddr>().ok());
    is_in_subnet(range, address)
        && end("rangeStart").is_none_or(|start| start <= address)
        && end("rangeEnd").is_none_or(|end| address <= end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ranges(ranges: &Value, addresses: &[&str]) -> Value {
        let mut ipam = json!({"type": "host-local", "ranges": ranges});
        add_ranges(ipam.as_object_mut().unwrap(), addresses.iter().map(|text| text.parse().unwrap()));
        ipam["ranges"].clone()
    }

    #[test]
    fn an_address_outside_of_the_part_of_the_node_gets_a_range_of_its_own() {
        let part =
            json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.3.0", "rangeEnd": "10.1.3.255", "gateway": "10.1.0.1"});
        let six = json!({"subnet": "fd00::/64", "rangeStart": "fd00::300", "rangeEnd": "fd00::3ff"});
        let found = ranges(&json!([[part], [six]]), &["10.1.9.9", "fd00::9"]);
        let own =
            json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.9.9", "rangeEnd": "10.1.9.9", "gateway": "10.1.0.1"});
        let own_six = json!({"subnet": "fd00::/64", "rangeStart": "fd00::9", "rangeEnd": "fd00::9"});
        assert_eq!(found, json!([[part, own], [six, own_six]]));
    }

    #[test]
    fn the_assigned_addresses_are_described() {
        let part = json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.3.0", "rangeEnd": "10.1.3.255"});
        let ranges =
            json!({"type": "host-local", "ranges": [[part, {"subnet": "10.2.0.0/16", "rangeEnd": "10.2.0.9"}]]});
        assert_eq!(assigned(&ranges).unwrap(), "10.1.3.0 to 10.1.3.255, those of 10.2.0.0/16 up to 10.2.0.9");
        assert_eq!(assigned(&json!({"subnet": "fd00::/64"})).unwrap(), "those of fd00::/64");
        assert_eq!(assigned(&json!({"type": "host-local"})), None);
    }

    #[test]
    fn other_ranges_stay_as_they_are() {
        for same in [json!([[{"subnet": "10.1.0.0/16"}]]), json!([[{"subnet": "10.9.0.0/16"}]]), json!("?"), json!([7])]
        {
            assert_eq!(ranges(&same, &["10.1.9.9"]), same);
        }
    }
}
