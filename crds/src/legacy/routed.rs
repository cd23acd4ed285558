//! `netType: interface`: the pod reaches VPP itself. The network gets a gateway, which the
//! userspace CNI did not know: it follows from the subnets of `ipam`, and so does the bridge domain
//! where none is named, so that configurations with the same subnets have one network. Without a
//! subnet the configuration's own name decides. Memifs in the mode `ip` are routed, all else is
//! bridged.

use super::error::InvalidLegacy;
use super::keys::Keys;
use crate::names::fnv1a;
use crate::{BridgeDomainId, BridgeName, Gateway, InterfaceAddress, MemifMode, NetworkName, PortType};
use ipnet::IpNet;
use serde_json::Value;
use std::net::IpAddr;

const NO_SUBNET: &str = "VPP routes to the addresses of memifs in the mode ip: write host-local or static with a subnet, or create a UserspaceNetwork with port.memif.mode IP";

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
    match (net_type(host)?, mode) {
        (NetType::Bridge, MemifMode::Ip) => Err(memif.unsupported(
            "mode",
            "ip",
            "a bridge forwards Ethernet frames only: use ethernet, or netType interface",
        )),
        _ => Ok(mode),
    }
}

/// What the engine does with the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetType {
    Bridge,
    Interface,
}

/// `host.netType`, by default `bridge`.
pub(super) fn net_type(host: &Keys<'_>) -> Result<NetType, InvalidLegacy> {
    match host.text("netType")? {
        None | Some("bridge") => Ok(NetType::Bridge),
        Some("interface") => Ok(NetType::Interface),
        Some(other) => Err(host.unsupported("netType", other, "use bridge, or with vpp interface")),
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

/// The gateway that pods need, and the name of the bridge domain if the configuration names none.
pub(super) fn interface(whole: &Keys<'_>, mode: MemifMode) -> Result<(Option<Gateway>, String), InvalidLegacy> {
    match gateway(whole)? {
        None if mode == MemifMode::Ip => Err(whole.missing("ipam", NO_SUBNET)),
        None => Ok((None, whole.text("name")?.unwrap_or_default().to_owned())),
        Some(gateway) => {
            let subnets: Vec<String> = gateway.addresses.iter().map(|address| address.subnet().to_string()).collect();
            Ok((Some(gateway), subnets.join(",")))
        }
    }
}

/// The gateway in the first subnet of each family: the one that `ipam` names there, else the first
/// address; none without a subnet.
fn gateway(whole: &Keys<'_>) -> Result<Option<Gateway>, InvalidLegacy> {
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
    addresses.sort();
    Ok((!addresses.is_empty()).then_some(Gateway { addresses, routing_domain: None }))
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

/// The bridge domain of a configuration that names none.
pub(super) fn bridge(origin: &str) -> Option<BridgeName> {
    let name: NetworkName = format!("interface-{:016x}", fnv1a(origin.as_bytes())).parse().ok()?;
    Some(BridgeDomainId::default_for(&name).into())
}
