//! Random nodes: few names, so that conflicts are frequent.

use super::model::Model;
use crate::model::attachment::AttachmentId;
use crate::model::bridge::BridgeOwner;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings, MacTable};
use crate::model::desired::{Desired, TornDownAttachment};
use crate::model::memif::MemifSocket;
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::{NetworkDevice, NetworkDeviceRole, PortOwner};
use crate::model::policy_zone::PolicyZone;
use crate::model::port::{
    AttachedPort, DesiredPort, ObservedQueues, ObservedSettings, PortBackend, PortName, PortPolicy, PortSettings,
};
use crate::model::tagging::Tagging;
use crate::testing::{attachment, backend, desired_port, network};
use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{
    AddressPair, AntiSpoofing, BridgeName, EngineKind, KilobitsPerSecond, MacAge, MacLearning, Mtu, NetworkName,
    NodeNetwork, Ownership, Policies, Polling, Queues, RateLimit, RingSize, TransmitRetries, Vlan, VlanTag,
};

const NETWORKS: [&str; 3] = ["blue", "green", "red"];
const BRIDGES: [&str; 5] = ["br-blue", "br-green", "br-red", "br-other", "br0"];
const CONTAINERS: [&str; 4] = ["c1", "c2", "c3", "c4"];

pub(super) fn network_name_strategy() -> impl Strategy<Value = NetworkName> {
    select(&NETWORKS[..]).prop_map(|name| name.parse().unwrap())
}

fn attachment_strategy() -> impl Strategy<Value = AttachmentId> {
    select(&CONTAINERS[..]).prop_map(attachment)
}

fn bridge_name_strategy() -> impl Strategy<Value = BridgeName> {
    select(&BRIDGES[..]).prop_map(|name| name.parse().unwrap())
}

fn mtu_strategy() -> impl Strategy<Value = Mtu> {
    select(&[1500, 9000][..]).prop_map(|mtu| Mtu::try_from(mtu).unwrap())
}

fn mac_strategy() -> impl Strategy<Value = (MacLearning, MacAge)> {
    let learning = select(&[MacLearning::Enabled, MacLearning::Enabled, MacLearning::Disabled][..]);
    (learning, select(&[300, 600][..]).prop_map(|age| MacAge::try_from(age).unwrap()))
}

/// Few, so that several bridges have the same.
fn zone_strategy() -> impl Strategy<Value = PolicyZone> {
    select(&["65535", "65534", "7"][..]).prop_map(|zone| zone.parse().unwrap())
}

fn policies_strategy() -> impl Strategy<Value = Policies> {
    select(&[Policies::Disabled, Policies::Enabled][..])
}

fn tag_strategy() -> impl Strategy<Value = VlanTag> {
    select(&[7, 8][..]).prop_map(|tag| VlanTag::try_from(tag).unwrap())
}

fn vlan_strategy() -> impl Strategy<Value = Option<Vlan>> {
    option::of(prop_oneof![
        2 => tag_strategy().prop_map(|tag| Vlan::Access { tag }),
        1 => btree_set(tag_strategy(), 1..=2).prop_map(|trunks| Vlan::Trunk { trunks }),
        1 => (tag_strategy(), btree_set(tag_strategy(), 1..=2)).prop_map(|(tag, trunks)| Vlan::NativeTagged { tag, trunks }),
        1 => (tag_strategy(), btree_set(tag_strategy(), 1..=2)).prop_map(|(tag, trunks)| Vlan::NativeUntagged { tag, trunks }),
    ])
}

fn rate_limit_strategy() -> impl Strategy<Value = RateLimit> {
    let rate =
        || option::weighted(0.3, select(&[1000, 8000][..]).prop_map(|rate| KilobitsPerSecond::try_from(rate).unwrap()));
    (rate(), rate()).prop_map(|(ingress_kbps, egress_kbps)| RateLimit { ingress_kbps, egress_kbps })
}

fn backend_strategy() -> impl Strategy<Value = PortBackend> {
    let memif = MemifSocket::file("/run/usnet/ports/3/memif-net1.sock".into()).unwrap();
    select(vec![backend("c1"), backend("c2"), PortBackend::memif(memif)])
}

/// Most attachments have a name of their own; one may have the name of another, or of a bridge.
fn port_name_strategy(id: &AttachmentId) -> impl Strategy<Value = PortName> + use<> {
    prop_oneof![20 => Just(PortName::of(id)), 1 => any_port_name_strategy()]
}

fn any_port_name_strategy() -> impl Strategy<Value = PortName> {
    prop_oneof![
        8 => attachment_strategy().prop_map(|id| PortName::of(&id)),
        1 => Just(PortName::observed("eth0")),
        1 => bridge_name_strategy().prop_map(|bridge| PortName::observed(bridge.as_str())),
    ]
}

fn ownership_strategy() -> impl Strategy<Value = Ownership> {
    select(&[Ownership::Managed, Ownership::Managed, Ownership::Adopted][..])
}

/// Most ports are on a bridge.
fn routed_strategy() -> impl Strategy<Value = BTreeSet<IpAddr>> {
    let address = |text: &str| BTreeSet::from([text.parse().unwrap()]);
    prop_oneof![4 => Just(BTreeSet::new()), 1 => select(vec![address("10.1.0.5"), address("fd00::5")])]
}

fn settings_strategy() -> impl Strategy<Value = PortSettings> {
    let parts = (mtu_strategy(), vlan_strategy(), rate_limit_strategy(), routed_strategy(), serving_strategy());
    (parts, anti_spoofing_strategy()).prop_map(|(parts, (anti_spoofing, allowed_address_pairs))| {
        let (mtu, vlan, rate_limit, routed, (polling, transmit_retries)) = parts;
        PortSettings {
            mtu,
            vlan,
            rate_limit,
            routed,
            polling,
            transmit_retries,
            anti_spoofing,
            allowed_address_pairs,
            policies: Policies::default(),
        }
    })
}

fn anti_spoofing_strategy() -> impl Strategy<Value = (AntiSpoofing, Vec<AddressPair>)> {
    let pair =
        |mac: Option<&str>| AddressPair { ip: "10.1.0.100".parse().unwrap(), mac: mac.map(|mac| mac.parse().unwrap()) };
    let pairs = vec![vec![], vec![pair(None)], vec![pair(Some("00:00:5e:00:01:05"))]];
    (select(&[AntiSpoofing::Off, AntiSpoofing::Mac, AntiSpoofing::Address][..]), select(pairs))
}

fn serving_strategy() -> impl Strategy<Value = (Option<Polling>, Option<TransmitRetries>)> {
    let polling = select(&[None, None, Some(Polling::Polling), Some(Polling::Interrupt)][..]);
    (polling, option::weighted(0.3, select(&[0, 32][..]).prop_map(|number| TransmitRetries::try_from(number).unwrap())))
}

/// Those of a port without a program, or of one with several queues.
fn observed_queues_strategy() -> impl Strategy<Value = ObservedQueues> {
    (option::of(any::<bool>()), serving_strategy()).prop_map(|(are_spread, (polling, retries))| ObservedQueues {
        are_spread,
        polling: polling.into_iter().collect(),
        transmit_retries: retries.map(|retries| retries.to_string()),
    })
}

fn network_strategy(name: &NetworkName) -> impl Strategy<Value = NodeNetwork> + use<> {
    let usual = BridgeName::default_for(name);
    let bridge = prop_oneof![4 => Just(usual), 1 => bridge_name_strategy()];
    let base = network(name.as_str());
    (bridge, ownership_strategy(), mac_strategy(), settings_strategy(), policies_strategy()).prop_map(
        move |(name, ownership, mac, settings, policies)| {
            let mut network = base.clone();
            network.policies = policies;
            network.bridge.ownership = ownership;
            (network.bridge.name, network.bridge.mtu) = (name, settings.mtu);
            (network.bridge.mac_learning, network.bridge.mac_age_seconds) = mac;
            (network.port.vlan, network.port.rate_limit) = (settings.vlan, settings.rate_limit);
            (network.port.polling, network.port.transmit_retries) = (settings.polling, settings.transmit_retries);
            network
        },
    )
}

fn networks_strategy() -> impl Strategy<Value = BTreeMap<NetworkName, Arc<NodeNetwork>>> {
    let each = btree_set(network_name_strategy(), 0..=NETWORKS.len());
    each.prop_flat_map(|names| names.iter().map(network_strategy).collect::<Vec<_>>())
        .prop_map(|networks| networks.into_iter().map(|network| (network.name.clone(), network.into())).collect())
}

fn desired_attachment_strategy(id: &AttachmentId) -> impl Strategy<Value = DesiredPort> + use<> {
    let id = id.clone();
    let policy = select(&[PortPolicy::Ensure, PortPolicy::Ensure, PortPolicy::Keep][..]);
    let bridge = (option::weighted(0.2, bridge_name_strategy()), ownership_strategy());
    let queues = select(&[1, 1, 4][..]).prop_map(|number| Queues::try_from(number).unwrap());
    let port = (port_name_strategy(&id), backend_strategy(), queues, settings_strategy());
    (network_name_strategy(), bridge, port, policy).prop_map(
        move |(network, (bridge, ownership), (name, backend, queues, settings), policy)| {
            let bridge = bridge.unwrap_or_else(|| BridgeName::default_for(&network));
            let ring_size = RingSize::default();
            let (secret, without_af_xdp) = (None, None);
            let port =
                AttachedPort { name, bridge, ownership, backend, queues, ring_size, secret, settings, without_af_xdp };
            DesiredPort { policy, ..desired_port(&network, &id, &port) }
        },
    )
}

/// Any desired state, including contradictory ones.
pub(super) fn desired_strategy() -> impl Strategy<Value = Desired> {
    let ids = btree_set(attachment_strategy(), 0..=CONTAINERS.len());
    let attachments = ids.prop_flat_map(|ids| ids.iter().map(desired_attachment_strategy).collect::<Vec<_>>());
    let detached = btree_map(attachment_strategy(), detached_strategy(), 0..=2);
    let devices = btree_map((network_name_strategy(), role_strategy()), 1_u32..3, 0..=3);
    (networks_strategy(), attachments, detached, devices).prop_map(|(networks, attachments, mut detached, devices)| {
        let followed = attachments.into_iter().map(|port| follow_network(port, &networks));
        let ports: BTreeMap<_, _> = followed.map(|port| (port.owner.owner.clone(), port)).collect();
        let mut desired = Desired { networks, ports, ..Desired::default() };
        detached.retain(|id, _| desired.attachment(id).is_none());
        desired.detached = detached;
        let device = |((network, role), index)| NetworkDevice { network, role, index };
        desired.with_devices(&devices.into_iter().map(device).collect::<Vec<_>>())
    })
}

/// The ownership of a network's bridge is the network's, as in [`Desired::new`].
fn follow_network(mut port: DesiredPort, networks: &BTreeMap<NetworkName, Arc<NodeNetwork>>) -> DesiredPort {
    let network = port.owner.network.as_ref().and_then(|network| networks.get(network));
    if let Some((network, bridge)) = network.zip(port.bridge.as_mut())
        && network.bridge.name == bridge.name
    {
        bridge.ownership = network.bridge.ownership;
    }
    port
}

fn detached_strategy() -> impl Strategy<Value = TornDownAttachment> {
    let parts = (network_name_strategy(), backend_strategy());
    parts.prop_map(|(network, backend)| TornDownAttachment { network, backend })
}

fn state_strategy() -> impl Strategy<Value = ElementState> {
    prop_oneof![
        4 => Just(ElementState::Running),
        1 => Just(ElementState::Pending),
        1 => Just(ElementState::Failed("could not open network device".to_owned())),
    ]
}

fn observed_bridge_strategy() -> impl Strategy<Value = ObservedBridge> {
    let owner = option::weighted(0.8, network_name_strategy());
    let mtu = option::weighted(0.8, mtu_strategy().prop_map(i64::from));
    let mac = (mac_strategy(), prop::bool::weighted(0.9));
    let zone = option::weighted(0.3, zone_strategy());
    // A bridge that cannot be adopted has no supported datapath either.
    let kind = prop_oneof![8 => Just((true, None)), 1 => Just((false, None)), 1 => Just((false, Some("a kernel's".to_owned())))];
    (owner, kind, mtu, (mac, zone), state_strategy()).prop_map(
        |(
            owner,
            (has_supported_datapath, adoption_blocker),
            mtu,
            (((mac_learning, age), has_age), policy_zone),
            state,
        )| {
            // That of a bridge of others is not read.
            let policy_zone = policy_zone.filter(|_| owner.is_some());
            ObservedBridge {
                owner: owner.map(BridgeOwner::Network),
                has_supported_datapath,
                adoption_blocker,
                settings: BridgeSettings {
                    mtu: mtu.map_or(BridgeMtu::Unset, BridgeMtu::Set),
                    mac_learning,
                    mac_age_seconds: has_age.then(|| age.into()),
                    mac_table: if has_age { MacTable::Limited(8192) } else { MacTable::Unset },
                    is_guarded: Some(!has_age),
                    policy_zone,
                },
                state,
                ports: BTreeMap::new(),
            }
        },
    )
}

fn role_strategy() -> impl Strategy<Value = NetworkDeviceRole> {
    select(&[NetworkDeviceRole::Overlay, NetworkDeviceRole::NodeAccess][..])
}

fn observed_port_strategy() -> impl Strategy<Value = ObservedPort> {
    let of_pod =
        (network_name_strategy(), attachment_strategy()).prop_map(|(network, id)| PortOwner::new(&network, &id));
    let of_network = (network_name_strategy(), role_strategy(), 1_u32..3)
        .prop_map(|(network, role, index)| PortOwner::of_device(&NetworkDevice { network, role, index }));
    let owner = prop_oneof![4 => of_pod, 1 => of_network];
    let tagging = prop_oneof![4 => vlan_strategy().prop_map(Tagging::from), 1 => Just(Tagging::Other)];
    let limits = option::weighted(0.9, rate_limit_strategy());
    let settings = (tagging, limits, routed_strategy(), observed_queues_strategy());
    let mtu = option::weighted(0.8, mtu_strategy().prop_map(i64::from));
    let backend = option::weighted(0.9, backend_strategy());
    let peer = select(&[Peer::Connected, Peer::Absent][..]);
    let parts = (option::weighted(0.7, owner), backend, mtu, settings, peer, state_strategy());
    parts.prop_map(|(owner, backend, mtu, (tagging, rate_limit, routed, queues), peer, state)| ObservedPort {
        owner,
        backend,
        settings: ObservedSettings {
            mtu,
            tagging,
            rate_limit,
            routed,
            receive_queues: None,
            queues,
            guard: None,
            is_enabled: true,
        },
        peer,
        state,
        members: Vec::new(),
    })
}

pub(super) fn engine_strategy() -> impl Strategy<Value = Model> {
    let open_vswitch = observed_strategy().prop_map(|observed| Model { kind: EngineKind::OpenVswitch, observed });
    prop_oneof![open_vswitch, vpp_strategy().prop_map(|observed| Model { kind: EngineKind::Vpp, observed })]
}

/// Foreign bridges and ports, wrong tags, drift, moved ports, a port on two bridges.
fn observed_strategy() -> impl Strategy<Value = Observed> {
    let bridges =
        btree_map(select(&BRIDGES[..]).prop_map(str::to_owned), observed_bridge_strategy(), 0..=BRIDGES.len());
    let on = prop_oneof![8 => btree_set(select(&BRIDGES[..]), 1), 1 => btree_set(select(&BRIDGES[..]), 2)];
    let ports = btree_map(any_port_name_strategy(), (on, observed_port_strategy()), 0..=CONTAINERS.len() + 1);
    (bridges, ports).prop_map(|(bridges, ports)| with_ports(Observed { bridges, ..Observed::default() }, &ports))
}

/// The differences of VPP: unbridged ports, ports that are admin down, tags without a network, and
/// no port on two bridges.
fn vpp_strategy() -> impl Strategy<Value = Observed> {
    let unbridged_ports = btree_map(any_port_name_strategy(), observed_port_strategy(), 0..=CONTAINERS.len());
    (observed_strategy(), unbridged_ports, btree_set(any_port_name_strategy(), 0..3)).prop_map(
        |(mut engine, unbridged_ports, disabled)| {
            let mut names = BTreeSet::new();
            for bridge in engine.bridges.values_mut() {
                bridge.settings.mtu = BridgeMtu::OfPortsOnly;
                (bridge.settings.is_guarded, bridge.settings.policy_zone) = (None, None);
                bridge.ports.retain(|name, _| names.insert(name.clone()));
                let network = bridge.network().cloned();
                bridge.ports.values_mut().for_each(|port| see_network(port, network.as_ref()));
            }
            engine.unbridged_ports = unbridged_ports;
            engine.unbridged_ports.retain(|name, _| names.insert(name.clone()));
            engine.unbridged_ports.values_mut().for_each(|port| see_network(port, None));
            let ports =
                engine.bridges.values_mut().flat_map(|bridge| &mut bridge.ports).chain(&mut engine.unbridged_ports);
            ports.for_each(|(name, port)| port.settings.is_enabled = !disabled.contains(name));
            engine
        },
    )
}

fn see_network(port: &mut ObservedPort, network: Option<&NetworkName>) {
    let of_pods = port.owner.iter_mut().filter(|owner| owner.attachment().is_some());
    of_pods.for_each(|owner| owner.network = network.cloned());
}

/// Names are unique in an engine, so a port with a bridge's name is left out.
fn with_ports(mut engine: Observed, ports: &BTreeMap<PortName, (BTreeSet<&'static str>, ObservedPort)>) -> Observed {
    for (name, (bridges, port)) in ports {
        if !engine.bridges.contains_key(name.as_str()) {
            for bridge in bridges {
                engine.bridges.entry((*bridge).to_owned()).and_modify(|bridge| {
                    bridge.ports.insert(name.clone(), port.clone());
                });
            }
        }
    }
    engine
}

/// The same without anything that usnet does not own.
pub(super) fn own_engine_strategy() -> impl Strategy<Value = Model> {
    engine_strategy().prop_map(|mut engine| {
        let Observed { bridges, unbridged_ports, .. } = &mut engine.observed;
        bridges.retain(|_, bridge| bridge.owner.is_some());
        bridges.values_mut().for_each(|bridge| bridge.ports.retain(|_, port| port.owner.is_some()));
        unbridged_ports.retain(|_, port| port.owner.is_some());
        engine
    })
}
