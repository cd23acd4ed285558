//! Memifs that VPP routes to: `netType: interface` with memifs in the mode `ip`. They need a
//! gateway, which the userspace CNI did not know: it follows from the subnets of `ipam`, and so
//! does the bridge domain where none is named, so that configurations with the same subnets have
//! one network.

use super::error::InvalidLegacy;
use super::keys::Keys;
use crate::names::fnv1a;
use crate::{BridgeDomainId, BridgeName, Gateway, InterfaceAddress, MemifMode, NetworkName, PortType};
use ipnet::IpNet;
use serde_json::Value;
use std::net::IpAddr;

const NO_SUBNET: &str = "with netType interface VPP routes to the pod's addresses: write host-local or static with a subnet, or create a UserspaceNetwork with port.memif.mode IP";

/// What the memifs carry. Both ends have to say the same; `netType` has to fit.
pub(super) fn mode(host: &Keys<'_>, container: &Keys<'_>, port_type: PortType) -> Result<MemifMode, InvalidLegacy> {
    let (memif, pods) = (host.object("memif")?, container.object("memif")?);
    let is_memif = port_type == PortType::Memif;
    let mode = if is_memif { one_mode(&memif)? } else { None };
    let mode = mode.unwrap_or_default();
    if is_memif && one_mode(&pods)?.is_some_and(|pods| pods != mode) {
        let value = pods.text("mode")?.unwrap_or_default();
        return Err(pods.unsupported("mode", value, "both ends carry the same: use the mode of host.memif"));
    }
    match (host.text("netType")?, mode) {
        (None | Some("bridge"), MemifMode::Ethernet) | (Some("interface"), MemifMode::Ip) => Ok(mode),
        (None | Some("bridge"), MemifMode::Ip) => Err(memif.unsupported(
            "mode",
            "ip",
            "a bridge forwards Ethernet frames only: use ethernet, or netType interface",
        )),
        (Some("interface"), MemifMode::Ethernet) => Err(host.unsupported(
            "netType",
            "interface",
            "only memifs in the mode ip are routed: set memif.mode to ip, or use bridge",
        )),
        (Some(other), _) => {
            Err(host.unsupported("netType", other, "use bridge, or interface with memifs in the mode ip"))
        }
    }
}

fn one_mode(memif: &Keys<'_>) -> Result<Option<MemifMode>, InvalidLegacy> {
    match memif.text("mode")? {
        None => Ok(None),
        Some("ethernet") => Ok(Some(MemifMode::Ethernet)),
        Some("ip") => Ok(Some(MemifMode::Ip)),
        Some(other) => Err(memif.unsupported("mode", other, "use ethernet, or ip with netType interface")),
    }
}

/// The gateway in the first subnet of each family: the one that `ipam` names there, else the first
/// address.
pub(super) fn gateway(whole: &Keys<'_>) -> Result<Gateway, InvalidLegacy> {
    let ipam = whole.object("ipam")?;
    let mut subnets = vec![(ipam.text("subnet")?, ipam.text("gateway")?)];
    for set in ipam.list("ranges")? {
        let ranges = set.as_array().into_iter().flatten();
        subnets.extend(ranges.map(|range| (text(range, "subnet"), text(range, "gateway"))));
    }
    subnets.extend(ipam.list("addresses")?.iter().map(|one| (text(one, "address"), text(one, "gateway"))));
    let subnets = subnets.into_iter().filter_map(|(subnet, own)| Some((subnet?.parse::<IpNet>().ok()?.trunc(), own)));
    let mut addresses: Vec<InterfaceAddress> = Vec::new();
    for (subnet, own) in subnets {
        let own = own.and_then(|own| own.parse::<IpAddr>().ok()).filter(|own| subnet.contains(own));
        let Some(address) = own.or_else(|| first(subnet)) else { continue };
        let parsed = format!("{address}/{}", subnet.prefix_len()).parse::<InterfaceAddress>();
        let Some(address) = parsed.ok().filter(|address| address.is_host()) else { continue };
        if addresses.iter().all(|other| other.ip().is_ipv4() != address.ip().is_ipv4()) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(whole.missing("ipam", NO_SUBNET));
    }
    addresses.sort();
    Ok(Gateway { addresses, routing_domain: None })
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    let found = object.as_object()?.iter().find(|(name, _)| name.eq_ignore_ascii_case(key))?.1;
    found.as_str()
}

fn first(subnet: IpNet) -> Option<IpAddr> {
    match subnet {
        IpNet::V4(net) => net.hosts().next().map(IpAddr::V4),
        // The first is that of all routers.
        IpNet::V6(net) => net.hosts().nth(1).map(IpAddr::V6),
    }
}

/// The bridge domain of a gateway, if the configuration names none.
pub(super) fn bridge(gateway: &Gateway) -> Option<BridgeName> {
    let subnets: Vec<String> = gateway.addresses.iter().map(|address| address.subnet().to_string()).collect();
    let name = format!("interface-{:016x}", fnv1a(subnets.join(",").as_bytes()));
    let name: NetworkName = name.parse().ok()?;
    Some(BridgeDomainId::default_for(&name).into())
}
