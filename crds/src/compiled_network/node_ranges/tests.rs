use super::*;
use proptest::prelude::*;
use serde_json::json;

fn prefix(ipv4: Option<i64>, ipv6: Option<i64>) -> NodePrefix {
    let (ipv4, ipv6) = (ipv4.map(|bits| bits.try_into().unwrap()), ipv6.map(|bits| bits.try_into().unwrap()));
    NodePrefix { ipv4, ipv6 }
}

/// The ranges of a node, each as `first-last`, in their sets.
fn ranges(ipam: &Value, prefix: &NodePrefix, number: u32, fixed: &[&str]) -> Result<Vec<Vec<String>>, NoAddresses> {
    let fixed = fixed.iter().map(|text| text.parse().unwrap());
    let own: IpamSpec = serde_json::from_value(node_ranges(ipam, prefix, number, fixed)?).unwrap();
    let text =
        |range: &IpamRange| format!("{}-{}", range.range_start.clone().unwrap(), range.range_end.clone().unwrap());
    Ok(own.ranges.iter().map(|set| set.iter().map(text).collect()).collect())
}

#[test]
fn each_node_has_its_own_part_and_the_mask_of_the_subnet_stays() {
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}], [{"subnet": "fd00::/64"}]], "dataDir": "/x"});
    let prefix = prefix(Some(24), Some(120));
    let part = |number| ranges(&ipam, &prefix, number, &[]);
    // The first has neither the address of the subnet nor the gateway that host-local assumes.
    assert_eq!(part(0), Ok(vec![vec!["10.1.0.2-10.1.0.255".into()], vec!["fd00::2-fd00::ff".into()]]));
    assert_eq!(part(7), Ok(vec![vec!["10.1.7.0-10.1.7.255".into()], vec!["fd00::700-fd00::7ff".into()]]));
    assert_eq!(part(255), Ok(vec![vec!["10.1.255.0-10.1.255.254".into()], vec!["fd00::ff00-fd00::ffff".into()]]));
    let exhausted = part(256).unwrap_err();
    let text = "this node has the number 256, and spec.ipam.nodePrefix divides 10.1.0.0/16 into 256 parts, for the nodes 0 to 255: ";
    assert!(exhausted.to_string().starts_with(text), "{exhausted}");
    let whole = node_ranges(&ipam, &prefix, 7, []).unwrap();
    let expected = json!({"type": "host-local", "dataDir": "/x", "ranges": [
        [{"subnet": "10.1.0.0/16", "rangeStart": "10.1.7.0", "rangeEnd": "10.1.7.255"}],
        [{"subnet": "fd00::/64", "rangeStart": "fd00::700", "rangeEnd": "fd00::7ff"}],
    ]});
    assert_eq!(whole, expected);
}

#[test]
fn a_range_is_cut_where_it_begins_and_ends() {
    let only = json!({"type": "host-local", "subnet": "10.1.0.0/16", "rangeStart": "10.1.9.100", "rangeEnd": "10.1.10.3", "gateway": "10.1.255.254"});
    let part = |number| ranges(&only, &prefix(Some(24), None), number, &[]);
    assert_eq!(part(0), Ok(vec![vec!["10.1.9.100-10.1.9.255".into()]]));
    assert_eq!(part(1), Ok(vec![vec!["10.1.10.0-10.1.10.3".into()]]));
    assert!(matches!(part(2), Err(NoAddresses::Exhausted { number: 2, parts: 2, .. })));
    let own = node_ranges(&only, &prefix(Some(24), None), 1, []).unwrap();
    assert_eq!((&own["subnet"], &own["rangeStart"], &own["gateway"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(own["ranges"][0][0]["gateway"], "10.1.255.254", "it is the gateway of the range");
}

#[test]
fn a_range_that_is_appended_makes_room_for_more_nodes() {
    let set = json!({"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}, {"subnet": "10.9.0.0/24"}]]});
    let part = |number| ranges(&set, &prefix(Some(25), None), number, &[]);
    assert_eq!(part(1), Ok(vec![vec!["10.1.0.128-10.1.0.254".into()]]));
    assert_eq!(part(2), Ok(vec![vec!["10.9.0.2-10.9.0.127".into()]]));
    assert!(matches!(part(4), Err(NoAddresses::Exhausted { parts: 4, .. })));
}

#[test]
fn addresses_of_pods_by_name_and_the_gateway_are_left_out() {
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24", "gateway": "10.1.0.66"}]]});
    let part = |number, fixed: &[&str]| ranges(&ipam, &prefix(Some(26), None), number, fixed);
    let fixed = ["10.1.0.64", "10.1.0.67", "10.1.0.70", "10.1.0.70", "10.1.0.127", "10.1.0.5", "fd00::1"];
    let runs = ["10.1.0.65-10.1.0.65", "10.1.0.68-10.1.0.69", "10.1.0.71-10.1.0.126"];
    assert_eq!(part(1, &fixed), Ok(vec![runs.map(str::to_owned).into()]));
    let all: Vec<String> = (0..64).map(|host| format!("10.1.0.{host}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(matches!(part(0, &all), Err(NoAddresses::Empty { number: 0, .. })));
}

fn addresses(range: &str) -> (IpAddr, IpAddr) {
    let (first, last) = range.split_once('-').unwrap();
    (first.parse().unwrap(), last.parse().unwrap())
}

/// A subnet with a random prefix, a longer one for the parts, and where the range begins and ends.
fn divided() -> impl Strategy<Value = (IpNet, u8, Option<IpAddr>, Option<IpAddr>)> {
    let network = prop_oneof![
        (any::<u32>(), 4..=28u8, 0..8u8).prop_map(|(bits, length, more)| {
            let net = IpNet::new(std::net::Ipv4Addr::from_bits(bits).into(), length).unwrap();
            (net.trunc(), (length + more).min(30))
        }),
        (any::<u128>(), 16..=124u8, 0..8u8).prop_map(|(bits, length, more)| {
            let net = IpNet::new(std::net::Ipv6Addr::from_bits(bits).into(), length).unwrap();
            (net.trunc(), (length + more).min(126))
        }),
    ];
    let ends = (prop::option::of(any::<u128>()), prop::option::of(any::<u128>()));
    (network, ends).prop_map(|((net, prefix), (start, end))| {
        let within = |bits: u128| -> IpAddr {
            match net {
                IpNet::V4(net) => {
                    let hosts = u32::MAX.checked_shr(net.prefix_len().into()).unwrap_or_default();
                    std::net::Ipv4Addr::from_bits(net.network().to_bits() | (bits as u32 & hosts)).into()
                }
                IpNet::V6(net) => {
                    let hosts = u128::MAX.checked_shr(net.prefix_len().into()).unwrap_or_default();
                    std::net::Ipv6Addr::from_bits(net.network().to_bits() | (bits & hosts)).into()
                }
            }
        };
        let (start, end) = (start.map(within), end.map(within));
        match (start, end) {
            (Some(one), Some(other)) => (net, prefix, Some(one.min(other)), Some(one.max(other))),
            ends => (net, prefix, ends.0, ends.1),
        }
    })
}

proptest! {
    #[test]
    fn parts_of_different_nodes_have_nothing_in_common_and_lie_in_the_range(
        (net, bits, start, end) in divided(), one in 0..300u32, other in 0..300u32, fixed in prop::collection::vec(0..600u32, 0..4),
    ) {
        let mut range = json!({"subnet": net.to_string()});
        for (key, address) in [("rangeStart", start), ("rangeEnd", end)] {
            if let Some(address) = address {
                range[key] = address.to_string().into();
            }
        }
        let ipam = json!({"type": "host-local", "ranges": [[range]]});
        let prefix = match net {
            IpNet::V4(_) => prefix(Some(bits.into()), None),
            IpNet::V6(_) => prefix(None, Some(bits.into())),
        };
        let fixed: Vec<IpAddr> = fixed.into_iter().filter_map(|index| net.hosts().nth(index as usize)).collect();
        let texts: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let part = |number| ranges(&ipam, &prefix, number, &texts).map(|sets| sets[0].iter().map(|it| addresses(it)).collect::<Vec<_>>());
        let (own, others) = (part(one), part(other));
        if let Ok(own) = &own {
            for (first, last) in own {
                prop_assert!(first <= last && net.contains(first) && net.contains(last));
                prop_assert!(start.is_none_or(|start| start <= *first) && end.is_none_or(|end| *last <= end));
                prop_assert!(*first != net.network() && (net.addr().is_ipv6() || *last != net.broadcast()));
                let gateway = net.hosts().find(|host| *host != net.network()).unwrap();
                prop_assert!(fixed.iter().chain([&gateway]).all(|taken| taken < first || last < taken));
            }
        }
        if let (Ok(own), Ok(others), true) = (own, others, one != other) {
            for (first, last) in own {
                prop_assert!(others.iter().all(|(start, end)| *end < first || last < *start));
            }
        }
    }
}
