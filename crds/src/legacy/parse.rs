//! Parses a configuration: `host`, the parts of `container` that must match it, and `ipam`.

use super::error::InvalidLegacy;
use super::keys::Keys;
use super::routed::{self, NetType};
use super::settings::Settings;
use super::vlan::vlan;
use super::{Legacy, PLUGIN};
use crate::engine::BridgeKey;
use crate::types::limits::IPAM_MAX;
use crate::{
    BridgeDomainId, BridgeName, EngineKind, Gateway, KilobitsPerSecond, MacAddress, MemifMode, PortType, Queues,
    RateLimit, SocketRole,
};
use serde_json::Value;

/// The default bridge of Intel's userspace CNI with Open vSwitch.
pub(super) const DEFAULT_BRIDGE: &str = "br0";
/// Longest name of a socket, in bytes: with the directory of the pod it must fit the path of a unix
/// socket.
const SOCKET_FILE_MAX: usize = 40;

pub(super) fn legacy(whole: &Keys<'_>) -> Result<Legacy, InvalidLegacy> {
    let (host, container) = (whole.object("host")?, whole.object("container")?);
    if !host.exists() {
        return Err(whole.missing("host", "it specifies engine and bridge"));
    }
    let engine = engine(&host)?;
    let port_type = port_type(&host, engine)?;
    let memif_mode = routed::mode(&host, &container, port_type)?;
    refuse_ovn(&whole.object("args")?.object("cni")?)?;
    for end in [&host, &container] {
        for kind in ["memif", "vhost"] {
            socket_file(&end.object(kind)?)?;
        }
    }
    let socket_end = if port_type == PortType::Memif { host.object("memif")? } else { host.object("vhost")? };
    let (memif, vhost) = (host.object("memif")?, host.object("vhost")?);
    let engine_role = match port_type {
        PortType::VhostUser => vhost_role(&vhost, &container.object("vhost")?)?,
        PortType::Memif => {
            memif_ends(&memif, &container.object("memif")?)?;
            SocketRole::default()
        }
        // The legacy plugin has no others.
        _ => SocketRole::default(),
    };
    let is_memif = port_type == PortType::Memif;
    let bridge = host.object("bridge")?;
    let (gateway, unnamed) = interface(whole, &host, engine, memif_mode)?;
    Ok(Legacy {
        engine,
        bridge: unnamed.map_or_else(|| bridge_name(&bridge, engine), Ok)?,
        settings: Settings {
            port_type,
            memif_mode,
            gateway,
            engine_role,
            vlan: vlan(&bridge)?,
            mtu: host.number("mtu")?,
            queues: if is_memif { queues(&memif)? } else { None },
            ring_size: if is_memif { memif.number("ringSize")? } else { None },
            rate_limit: if is_memif { RateLimit::default() } else { rate_limit(&vhost)? },
        },
        ipam: ipam(whole)?,
        mac: mac(&container)?.or(mac(&host)?),
        socket_file: socket_file(&socket_end)?.map(str::to_owned),
    })
}

/// The gateway of `netType: interface`, and the bridge domain if none is named.
fn interface(
    whole: &Keys<'_>,
    host: &Keys<'_>,
    engine: EngineKind,
    mode: MemifMode,
) -> Result<(Option<Gateway>, Option<BridgeName>), InvalidLegacy> {
    const ADVICE: &str = "Open vSwitch has no interfaces with addresses for pods: use bridge";
    if routed::net_type(host)? == NetType::Bridge {
        return Ok((None, None));
    }
    if !engine.traits().has_gateways {
        return Err(host.unsupported("netType", "interface", ADVICE));
    }
    let (gateway, origin) = routed::interface(whole, mode)?;
    let is_named = has_domain(&host.object("bridge")?)?;
    Ok((gateway, if is_named { None } else { routed::bridge(&origin) }))
}

fn refuse_ovn(arguments: &Keys<'_>) -> Result<(), InvalidLegacy> {
    const ADVICE: &str = "ports of OVN are not supported: they need OVN's own bridge";
    arguments.text("OvnPort")?.map_or(Ok(()), |port| Err(arguments.unsupported("OvnPort", port, ADVICE)))
}

pub(super) fn engine(host: &Keys<'_>) -> Result<EngineKind, InvalidLegacy> {
    const ADVICE: &str = "use ovs-dpdk or vpp";
    let Some(name) = host.text("engine")? else { return Err(host.missing("engine", "write ovs-dpdk or vpp")) };
    let engine = EngineKind::ALL.into_iter().find(|engine| engine.traits().legacy_name == name);
    engine.ok_or_else(|| host.unsupported("engine", name, ADVICE))
}

fn port_type(host: &Keys<'_>, engine: EngineKind) -> Result<PortType, InvalidLegacy> {
    match host.text("iftype")? {
        Some("vhostuser") => Ok(PortType::VhostUser),
        Some("memif") if engine.traits().port_types.contains(&PortType::Memif) => Ok(PortType::Memif),
        Some("memif") => {
            Err(host.unsupported("iftype", "memif", "Open vSwitch has no memif: use vhostuser, or the engine vpp"))
        }
        Some(other) => Err(host.unsupported("iftype", other, "use vhostuser, or with vpp memif")),
        None => Err(host.missing("iftype", "write vhostuser, or with vpp memif")),
    }
}

/// It names a file in the pod's own directory; a path is rejected. Files with the suffix `.json`
/// hold the descriptions of interfaces.
fn socket_file<'a>(kind: &Keys<'a>) -> Result<Option<&'a str>, InvalidLegacy> {
    let Some(name) = kind.text("socketfile")? else { return Ok(None) };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = name.len() <= SOCKET_FILE_MAX
        && name.bytes().all(is_plain)
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && !name.contains("..")
        && !name.ends_with(".json");
    let advice = "it must be a file name, not a path: use at most 40 letters, digits, '.', '_' and '-', not .json at its end, or leave it out";
    if is_name { Ok(Some(name)) } else { Err(kind.unsupported("socketfile", name, advice)) }
}

/// With Intel's userspace CNI the engine is the server by default.
fn vhost_role(host: &Keys<'_>, container: &Keys<'_>) -> Result<SocketRole, InvalidLegacy> {
    let (ours, pods) = (mode(host)?, mode(container)?);
    if let (Some(ours), Some(pods)) = (ours, pods)
        && ours == pods
    {
        let value = container.text("mode")?.unwrap_or_default();
        return Err(container.unsupported("mode", value, "one end is the client and the other the server"));
    }
    let opposite = |role| if role == SocketRole::Client { SocketRole::Server } else { SocketRole::Client };
    Ok(ours.or(pods.map(opposite)).unwrap_or(SocketRole::Server))
}

fn mode(vhost: &Keys<'_>) -> Result<Option<SocketRole>, InvalidLegacy> {
    match vhost.text("mode")? {
        None => Ok(None),
        Some("client") => Ok(Some(SocketRole::Client)),
        Some("server") => Ok(Some(SocketRole::Server)),
        Some(other) => Err(vhost.unsupported("mode", other, "use client or server")),
    }
}

/// VPP is always the memif master. As a slave it waits until the pod accepts its connection, and
/// serves no other pod until then (observed with 26.06).
fn memif_ends(host: &Keys<'_>, container: &Keys<'_>) -> Result<(), InvalidLegacy> {
    for (end, own, advice) in [
        (
            host,
            "master",
            "VPP is always the master, because as the slave it stops until the pod accepts its connection: leave it out, and let the pod's program be the slave",
        ),
        (container, "slave", "VPP is always the master, so the pod's program is the slave"),
    ] {
        if let Some(other) = end.text("role")?.filter(|role| *role != own) {
            return Err(end.unsupported("role", other, advice));
        }
    }
    Ok(())
}

/// usnet has one number of queue pairs.
fn queues(memif: &Keys<'_>) -> Result<Option<Queues>, InvalidLegacy> {
    let (receive, transmit): (Option<Queues>, Option<Queues>) = (memif.number("rxQueues")?, memif.number("txQueues")?);
    match (receive, transmit) {
        (Some(receive), Some(transmit)) if receive != transmit => {
            let advice = "both directions have the same number of queues: write the value of rxQueues";
            Err(memif.unsupported("txQueues", &transmit.to_string(), advice))
        }
        (receive, transmit) => Ok(receive.or(transmit)),
    }
}

/// Ingress of Open vSwitch is egress of the pod.
fn rate_limit(vhost: &Keys<'_>) -> Result<RateLimit, InvalidLegacy> {
    let egress_kbps: Option<KilobitsPerSecond> = vhost.number("ingressPolicingRate")?;
    Ok(RateLimit { egress_kbps, ..RateLimit::default() })
}

/// Whether a bridge domain is named.
fn has_domain(bridge: &Keys<'_>) -> Result<bool, InvalidLegacy> {
    Ok(bridge.text("bridgeName")?.is_some() || bridge.number::<BridgeDomainId>("bridgeId")?.is_some())
}

fn bridge_name(bridge: &Keys<'_>, engine: EngineKind) -> Result<BridgeName, InvalidLegacy> {
    const KEY: &str = "bridgeName";
    let name = bridge.text(KEY)?;
    match engine.traits().bridge_key {
        BridgeKey::Name => BridgeName::try_from(name.unwrap_or(DEFAULT_BRIDGE).to_owned())
            .map_err(|problem| bridge.out_of_range(KEY, &problem)),
        BridgeKey::Id => {
            let Some(name) = name else {
                let id: Option<BridgeDomainId> = bridge.number("bridgeId")?;
                return id
                    .map(BridgeName::from)
                    .ok_or_else(|| bridge.missing(KEY, "write the bridge domain's id in digits"));
            };
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
            let number = Some(name).filter(|_| is_number).and_then(|digits| digits.parse::<i64>().ok());
            let number = number.ok_or_else(|| {
                bridge.unsupported(KEY, name, "VPP's bridge domains have numbers: write one in digits")
            })?;
            BridgeDomainId::try_from(number).map(BridgeName::from).map_err(|problem| bridge.out_of_range(KEY, &problem))
        }
    }
}

/// `ipam` with the key `type` in its canonical spelling; none without a plugin.
pub(super) fn ipam(whole: &Keys<'_>) -> Result<Option<Value>, InvalidLegacy> {
    let ipam = whole.object("ipam")?;
    let Some(plugin) = ipam.text("type")?.filter(|plugin| !plugin.is_empty()) else { return Ok(None) };
    if plugin == PLUGIN {
        return Err(ipam.unsupported("type", plugin, "it attaches pods, and assigns no addresses: use an IPAM plugin"));
    }
    let mut parts = whole.value("ipam")?.and_then(Value::as_object).cloned().unwrap_or_default();
    parts.retain(|key, _| !key.eq_ignore_ascii_case("type"));
    parts.insert("type".to_owned(), plugin.into());
    let ipam = Value::Object(parts);
    match ipam.to_string().len() {
        length if length > IPAM_MAX => {
            let problem = format!("it has {length} bytes of JSON, and {IPAM_MAX} is the limit");
            Err(whole.out_of_range("ipam", &problem))
        }
        _ => Ok(Some(ipam)),
    }
}

fn mac(end: &Keys<'_>) -> Result<Option<MacAddress>, InvalidLegacy> {
    let parse = |text: &str| text.parse().map_err(|problem| end.out_of_range("mac", &problem));
    end.text("mac")?.map(parse).transpose()
}
