//! The settings of bridge and port that a configuration of Intel's userspace CNI requests, and
//! whether a network matches them.

use crate::{
    Bridge, EngineKind, Gateway, Memif, MemifMode, Mtu, Port, PortType, Queues, RateLimit, RingSize, SocketRole,
    VhostUser, Vlan,
};
use std::fmt;

/// The requested settings of bridge and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `host.iftype`.
    pub port_type: PortType,
    /// `host.memif.mode`; with `ip`, `host.netType` is `interface`.
    pub memif_mode: MemifMode,
    /// The gateway of `netType: interface`, from `ipam`.
    pub gateway: Option<Gateway>,
    /// Which end of a vhost-user socket the engine is: `host.vhost.mode`.
    pub engine_role: SocketRole,
    /// `host.bridge.vlanId`, `trunks`, `vlanMode`; none means untagged.
    pub vlan: Option<Vlan>,
    /// `host.mtu`, if present.
    pub mtu: Option<Mtu>,
    /// `host.memif.rxQueues` and `txQueues`, if present.
    pub queues: Option<Queues>,
    /// `host.memif.ringSize`, if present.
    pub ring_size: Option<RingSize>,
    /// `host.vhost.ingressPolicingRate`, which limits what the pod sends.
    pub rate_limit: RateLimit,
}

/// A requested setting that differs from the network of the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingMismatch {
    pub key: &'static str,
    /// The value in the configuration.
    pub requested: String,
    /// The value of the network.
    pub actual: String,
}

impl fmt::Display for SettingMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\" requests {}, and the network has {}", self.key, self.requested, self.actual)
    }
}

impl Settings {
    /// The port of a network that is generated from this configuration.
    pub fn port(&self) -> Port {
        let usual = Port::default();
        Port {
            port_type: self.port_type,
            queues: self.queues.unwrap_or(usual.queues),
            ring_size: self.ring_size.unwrap_or(usual.ring_size),
            vlan: self.vlan.clone(),
            rate_limit: self.rate_limit,
            vhost_user: VhostUser { engine_role: self.engine_role },
            memif: Memif { mode: self.memif_mode, ..usual.memif },
            ..usual
        }
    }

    /// The mismatches between these settings and a network, in a fixed order.
    ///
    /// Type, mode, role and VLAN are always compared: a pod of another type would not find its
    /// socket, and one without `vlanId` must not join a VLAN. The others are compared when present.
    pub fn mismatches(
        &self,
        engine: EngineKind,
        bridge: &Bridge,
        port: &Port,
        gateway: Option<&Gateway>,
    ) -> Vec<SettingMismatch> {
        let is_vhost_user = self.port_type == PortType::VhostUser && port.port_type == PortType::VhostUser;
        let role = |role| Role(engine, role);
        let all = [
            mismatch("host.iftype", &Type(self.port_type), &Type(port.port_type)),
            (self.port_type == port.port_type)
                .then(|| mismatch("host.memif.mode", &Mode(self.memif_mode), &Mode(port.memif.mode)))
                .flatten(),
            self.gateway.as_ref().and_then(|requested| gateway_mismatch(requested, gateway)),
            is_vhost_user
                .then(|| mismatch("host.vhost.mode", &role(self.engine_role), &role(port.vhost_user.engine_role)))
                .flatten(),
            mismatch("host.bridge.vlanId", &Tagging(self.vlan.as_ref()), &Tagging(port.vlan.as_ref())),
            self.mtu.and_then(|mtu| mismatch("host.mtu", &mtu, &bridge.mtu)),
            self.queues.and_then(|queues| mismatch("host.memif.rxQueues", &queues, &port.queues)),
            self.ring_size
                .and_then(|size| mismatch("host.memif.ringSize", &i64::from(size), &i64::from(port.ring_size))),
            (self.rate_limit != RateLimit::default())
                .then(|| mismatch("host.vhost.ingressPolicingRate", &self.rate_limit, &port.rate_limit))
                .flatten(),
        ];
        all.into_iter().flatten().collect()
    }
}

fn mismatch<T: PartialEq + fmt::Display>(key: &'static str, requested: &T, actual: &T) -> Option<SettingMismatch> {
    (requested != actual).then(|| SettingMismatch { key, requested: requested.to_string(), actual: actual.to_string() })
}

/// The gateway of the network has to be in each subnet; its own address may be another.
fn gateway_mismatch(requested: &Gateway, actual: Option<&Gateway>) -> Option<SettingMismatch> {
    let is_covered = |ip| actual.is_some_and(|actual| actual.for_address(ip).is_some());
    let all = |gateway: &Gateway| {
        gateway.addresses.iter().map(|address| address.subnet().to_string()).collect::<Vec<_>>().join(" and ")
    };
    let covers = requested.addresses.iter().all(|address| is_covered(address.ip()));
    (!covers).then(|| SettingMismatch {
        key: "ipam",
        requested: all(requested),
        actual: actual.map_or_else(|| "no gateway".to_owned(), all),
    })
}

#[derive(PartialEq)]
struct Mode(MemifMode);

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            MemifMode::Ethernet => "ethernet",
            MemifMode::Ip => "ip",
        })
    }
}

#[derive(PartialEq)]
struct Type(PortType);

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.as_str().to_ascii_lowercase())
    }
}

#[derive(PartialEq)]
struct Role(EngineKind, SocketRole);

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.1 {
            SocketRole::Client => "client",
            SocketRole::Server => "server",
        };
        write!(formatter, "{} as {role}", self.0)
    }
}

#[derive(PartialEq)]
struct Tagging<'a>(Option<&'a Vlan>);

impl fmt::Display for Tagging<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(vlan) => vlan.fmt(formatter),
            None => formatter.write_str("no VLAN"),
        }
    }
}
