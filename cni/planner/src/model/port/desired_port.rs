//! A port that a bridge should have, whatever owns it.

use super::attached::AttachedPort;
use super::backend::{PortBackend, TunnelEnds};
use super::guard::{Guard, GuardedAddresses, GuardedPair};
use super::name::{DeviceName, PortName};
use super::settings::{DesiredSettings, PortMtu, PortSettings};
use crate::model::attachment::{Record, needs_interface};
use crate::model::bridge::BridgeOwner;
use crate::model::memif::MemifSecret;
use crate::model::owner::{NetworkDevice, NetworkTunnel, Owner, PatchedNetwork, PortOwner};
use crate::model::tagging::Tagging;
use std::iter;
use std::net::IpAddr;
use usnet_crds::{
    AddressPair, AntiSpoofing, Bridge, BridgeName, EngineKind, MacAddress, NetworkName, NodeNetwork, Ownership,
    RingSize, UplinkName,
};

/// A port that an engine should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredPort {
    pub owner: PortOwner,
    /// The bridge that it is on; `None` for the NIC of an uplink in an engine without a bridge for
    /// it.
    pub bridge: Option<PortBridge>,
    pub name: PortName,
    pub backend: PortBackend,
    pub settings: DesiredSettings,
    pub creation: CreationOptions,
    /// The uplink that it depends on: it is created when the engine has that.
    pub uplink: Option<UplinkName>,
    /// The other port of a pair, which is created and recreated together with this one.
    pub pair: Option<Box<DesiredPort>>,
    pub policy: PortPolicy,
}

/// The bridge of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortBridge {
    pub name: BridgeName,
    /// The owner that the bridge must have, unless it is adopted.
    pub owner: BridgeOwner,
    pub ownership: Ownership,
}

/// What a port is created with. No engine reports it, and it cannot be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationOptions {
    /// Descriptors of each ring of a memif.
    pub ring_size: RingSize,
    /// The secret that the peer of a memif must present.
    pub secret: Option<MemifSecret>,
    /// The MAC address of a NIC, or of the pod's end of a tap.
    pub mac: Option<[u8; 6]>,
    /// Whether it lets nothing pass at first, because the policies for its pod are to be looked up
    /// (VPP). In Open vSwitch the bridge says so.
    pub is_closed: bool,
}

/// Whether a missing port is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortPolicy {
    /// Create the port if it is missing.
    Ensure,
    /// Keep the port if it exists, but do not create it.
    Keep,
}

impl PortBridge {
    /// The bridge of a network.
    pub fn of_network(network: &NetworkName, Bridge { name, ownership, .. }: &Bridge) -> Self {
        Self { name: name.clone(), owner: BridgeOwner::Network(network.clone()), ownership: *ownership }
    }

    /// The bridge of an uplink.
    pub fn of_uplink(uplink: &UplinkName) -> Self {
        let owner = BridgeOwner::Uplink(uplink.clone());
        Self { name: BridgeName::of_uplink(uplink), owner, ownership: Ownership::Managed }
    }
}

impl DesiredPort {
    /// The port of a pod, with what is recorded of it.
    pub fn of_attachment(record: &Record) -> Self {
        let Record { network, id, port, mac, .. } = record;
        let AttachedPort { name, bridge, ownership, backend, queues, ring_size, secret, settings, .. } = port.clone();
        let (guard, is_closed) = (guard(&settings, record), settings.policies.are_enabled());
        let settings = DesiredSettings { guard, ..settings.desired(&backend, queues) };
        let is_tap = matches!(backend, PortBackend::Tap { .. });
        let mac = mac.parse().ok().filter(|_| is_tap).map(|mac: MacAddress| mac.octets());
        Self {
            owner: PortOwner::new(network, id),
            bridge: Some(PortBridge { name: bridge, owner: BridgeOwner::Network(network.clone()), ownership }),
            name,
            backend,
            settings,
            creation: CreationOptions { ring_size, secret, mac, is_closed },
            uplink: None,
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// The port of a pod, with the present settings of its network, as far as they can change in
    /// place. What was assigned to the pod stays, whatever the network says now.
    pub fn of_attachment_on(network: &NodeNetwork, record: &Record) -> Self {
        let Record { pod, port: AttachedPort { settings, backend, queues, .. }, requested_rate_limit, .. } = record;
        let present = PortSettings::of_pod(network, &pod.namespace, &pod.name, *requested_rate_limit);
        let guard = guard(&present, record);
        let settings = PortSettings { routed: settings.routed.clone(), ..present }.desired(backend, *queues);
        let settings = DesiredSettings { guard, ..settings };
        let mut port = Self { settings, ..Self::of_attachment(record) };
        port.creation.is_closed = network.policies.are_enabled();
        if let Some(bridge) = port.bridge.as_mut().filter(|bridge| bridge.name == network.bridge.name) {
            bridge.ownership = network.bridge.ownership;
        }
        port
    }

    /// The port of a network's own device.
    pub fn of_device(network: &NodeNetwork, device: &NetworkDevice) -> Self {
        Self {
            backend: PortBackend::Device { device: DeviceName::of_role(&network.name, device.role) },
            settings: DesiredSettings::plain(PortMtu::OfDevice(network.bridge.mtu)),
            ..Self::of_network(network, PortOwner::of_device(device))
        }
    }

    /// What connects a network to its uplink, by a VLAN of that or untagged: in Open vSwitch a pair
    /// of patch ports between both bridges, in VPP a sub-interface of the NIC. `None` without an
    /// uplink.
    pub fn of_patch(network: &NodeNetwork, policy: PortPolicy) -> Option<Self> {
        let on_uplink = network.uplink.as_ref()?;
        let uplink = &on_uplink.name;
        let owner = PortOwner::of_patch(&PatchedNetwork { uplink: uplink.clone(), network: network.name.clone() });
        let tagging = Tagging::of_uplink_vlan(on_uplink.vlan);
        let port = Self { uplink: Some(uplink.clone()), policy, ..Self::of_network(network, owner) };
        Some(match network.engine {
            EngineKind::OpenVswitch => {
                let far_name = PortName::of_uplink_end(&network.name);
                let far = Self {
                    bridge: Some(PortBridge::of_uplink(uplink)),
                    name: far_name.clone(),
                    backend: PortBackend::Patch { peer: port.name.clone() },
                    settings: DesiredSettings::tagging(Some(tagging)),
                    ..port.clone()
                };
                Self {
                    backend: PortBackend::Patch { peer: far_name },
                    settings: DesiredSettings::tagging(Some(Tagging::Untagged)),
                    pair: Some(Box::new(far)),
                    ..port
                }
            }
            EngineKind::Vpp => {
                Self { backend: PortBackend::SubInterface, settings: DesiredSettings::tagging(Some(tagging)), ..port }
            }
        })
    }

    /// The tunnel of a network to one peer over an uplink.
    pub fn of_tunnel(tunnel: &NetworkTunnel, bridge: PortBridge, uplink: &UplinkName, ends: TunnelEnds) -> Self {
        let owner = PortOwner::of_tunnel(tunnel);
        Self {
            name: PortName::of_owner(&owner.owner),
            owner,
            bridge: Some(bridge),
            backend: PortBackend::Vxlan { ends },
            settings: DesiredSettings::plain(PortMtu::Unmanaged),
            creation: CreationOptions::default(),
            uplink: Some(uplink.clone()),
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// A port on the bridge of a network, whose backend and settings are to be replaced.
    fn of_network(network: &NodeNetwork, owner: PortOwner) -> Self {
        Self {
            name: PortName::of_owner(&owner.owner),
            owner,
            bridge: Some(PortBridge::of_network(&network.name, &network.bridge)),
            backend: PortBackend::SubInterface,
            settings: DesiredSettings::tagging(None),
            creation: CreationOptions::default(),
            uplink: None,
            pair: None,
            policy: PortPolicy::Ensure,
        }
    }

    /// The ports that it consists of: itself, and the other one of a pair.
    pub fn ends(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(self.pair.as_deref())
    }

    /// The name of its bridge.
    pub fn bridge_name(&self) -> Option<&BridgeName> {
        self.bridge.as_ref().map(|bridge| &bridge.name)
    }

    /// How the frames are tagged that leave the network through it, towards an uplink.
    pub fn uplink_tagging(&self) -> Option<&Tagging> {
        self.pair.as_deref().unwrap_or(self).settings.tagging.as_ref()
    }

    /// Whether settings that differ are changed. Other ports are recreated, because nothing but
    /// another client changes them.
    pub const fn is_changed_in_place(&self) -> bool {
        matches!(self.owner.owner, Owner::Attachment(_) | Owner::Nic(_))
    }

    /// Whether creating it again enables it, if another client has disabled it.
    pub const fn is_enabled_by_creation(&self) -> bool {
        matches!(self.owner.owner, Owner::Patch(_) | Owner::Nic(_))
    }
}

/// What a pod may claim to be; `None` if that is anything. Without a recorded MAC address that is
/// one that no interface has: in VPP a port without a guard would be open.
fn guard(settings: &PortSettings, record: &Record) -> Option<Guard> {
    const NO_INTERFACE: &str = "no interface";
    let own_mac = record.mac.parse().unwrap_or_else(|_| MacAddress::of(NO_INTERFACE));
    let pairs = settings.allowed_address_pairs.iter();
    let pairs = pairs.map(|AddressPair { ip, mac }| GuardedPair { ip: ip.ip(), mac: mac.unwrap_or(own_mac) });
    let (of_interface, others): (Vec<_>, Vec<_>) = pairs.partition(|pair| pair.mac == own_mac);
    let addresses = match settings.anti_spoofing {
        AntiSpoofing::Off => return None,
        AntiSpoofing::Mac => GuardedAddresses::Any,
        AntiSpoofing::Address => GuardedAddresses::Only {
            addresses: of_interface.iter().map(|pair| pair.ip).chain(own(record)).collect(),
            dhcp: record.ipam.as_ref().is_some_and(needs_interface),
        },
    };
    Some(Guard { mac: own_mac, addresses, pairs: others.into_iter().collect() })
}

/// The addresses that the pod was given.
fn own(record: &Record) -> impl Iterator<Item = IpAddr> {
    record.addresses.iter().map(|address| address.ip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn record(mac: &str) -> Record {
        Record { mac: mac.to_owned(), ..testing::record("c1", &testing::network("blue")) }
    }

    fn settings(anti_spoofing: AntiSpoofing) -> PortSettings {
        PortSettings { anti_spoofing, ..record("").port.settings }
    }

    /// The engines treat a port without a guard differently: one of Open vSwitch is closed, one of
    /// VPP is open.
    #[test]
    fn a_port_whose_mac_address_is_not_recorded_has_a_guard_that_fits_no_frame() {
        for (mac, expected) in
            [("02:00:00:00:00:0a", "02:00:00:00:00:0a".parse().unwrap()), ("", MacAddress::of("no interface"))]
        {
            let found = guard(&settings(AntiSpoofing::Mac), &record(mac)).unwrap();
            assert_eq!((found.mac, found.addresses), (expected, GuardedAddresses::Any));
            assert_eq!(guard(&settings(AntiSpoofing::Off), &record(mac)), None);
        }
    }

    #[test]
    fn a_pair_without_another_mac_address_is_one_more_address() {
        let pairs = json!([{"ip": "10.9.0.99"}, {"ip": "10.9.0.98", "mac": "02:00:00:00:00:0a"},
                           {"ip": "10.9.0.100", "mac": "00:00:5e:00:01:05"}]);
        let allowed_address_pairs = serde_json::from_value(pairs).unwrap();
        let settings = PortSettings { allowed_address_pairs, ..settings(AntiSpoofing::Address) };
        let found = guard(&settings, &record("02:00:00:00:00:0a")).unwrap().to_string();
        assert_eq!(found, "02:00:00:00:00:0a 10.0.0.2 10.9.0.98 10.9.0.99 10.9.0.100@00:00:5e:00:01:05");
    }

    #[test]
    fn a_client_of_dhcp_is_known_by_the_configuration_that_the_plugin_records() {
        let ipam = json!({"cniVersion": "1.1.0", "name": "blue", "type": "userspace", "ipam": {"type": "dhcp"}});
        let record = Record { ipam: Some(ipam), ..record("02:00:00:00:00:0a") };
        let found = guard(&settings(AntiSpoofing::Address), &record).unwrap().to_string();
        assert_eq!(found, "02:00:00:00:00:0a dhcp 10.0.0.2");
    }
}
