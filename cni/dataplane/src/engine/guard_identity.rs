//! The addresses that the pod of a guarded port may use, by the MAC address under which it may.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use usnet_crds::MacAddress;

/// A MAC address of a port, and the addresses that may be used with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Identity {
    pub(in crate::engine) mac: MacAddress,
    pub(in crate::engine) ipv4: BTreeSet<Ipv4Addr>,
    /// With the link-local addresses that hosts derive from MAC addresses, if there is any other.
    pub(in crate::engine) ipv6: BTreeSet<Ipv6Addr>,
}

/// Returns the identity of the port's own MAC address, and those of other ones by which addresses
/// are paired with it: with each of them its own addresses are allowed, too.
pub(in crate::engine) fn identities<'a>(
    own_mac: MacAddress,
    own: impl IntoIterator<Item = &'a IpAddr>,
    pairs: impl IntoIterator<Item = (MacAddress, IpAddr)>,
) -> Vec<Identity> {
    let own: BTreeSet<IpAddr> = own.into_iter().copied().collect();
    let mut by_mac = BTreeMap::from([(own_mac, own.clone())]);
    for (mac, ip) in pairs {
        by_mac.entry(mac).or_insert_with(|| own.clone()).insert(ip);
    }
    let has_ipv6 = |own: &BTreeSet<IpAddr>| own.iter().any(|ip| ip.is_ipv6() && is_of_a_host(ip));
    let own_link_local = by_mac.get(&own_mac).filter(|own| has_ipv6(own)).map(|_| link_local(own_mac));
    by_mac.into_iter().map(|(mac, addresses)| identity(mac, addresses, own_link_local)).collect()
}

fn identity(mac: MacAddress, addresses: BTreeSet<IpAddr>, own_link_local: Option<Ipv6Addr>) -> Identity {
    let (mut ipv4, mut ipv6) = (BTreeSet::new(), BTreeSet::new());
    for ip in addresses.into_iter().filter(is_of_a_host) {
        match ip {
            IpAddr::V4(ip) => drop(ipv4.insert(ip)),
            IpAddr::V6(ip) => drop(ipv6.insert(ip)),
        }
    }
    if !ipv6.is_empty() {
        ipv6.extend(own_link_local.into_iter().chain([link_local(mac)]));
    }
    Identity { mac, ipv4, ipv6 }
}

/// Whether a host may send from an address. With any other one a guard would allow what hosts
/// without an address send, or what is sent to groups.
fn is_of_a_host(ip: &IpAddr) -> bool {
    !ip.is_unspecified() && !ip.is_multicast() && *ip != IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// The link-local address of a MAC address (RFC 4291, appendix A).
pub(in crate::engine) fn link_local(mac: MacAddress) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.octets();
    Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}
