//! Nodes as they can be: few names, so that everything meets everything.

use crate::attachment::AttachmentId;
use crate::desired::{Desired, DesiredAttachment, Presence};
use crate::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Tagging};
use crate::port::{AttachedPort, Connection, PortMark, PortName, PortSettings, SocketPath};
use crate::testing::{attachment, network};
use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_crds::{BridgeName, Mtu, NetworkName, NodeNetwork, Queues, Vlan, VlanTag};

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

fn vlan_strategy() -> impl Strategy<Value = Option<VlanTag>> {
    option::of(select(&[7, 8][..]).prop_map(|tag| VlanTag::try_from(tag).unwrap()))
}

fn connection_strategy() -> impl Strategy<Value = Connection> {
    select(&["/run/usnet/ports/1/net1.sock", "/run/usnet/ports/2/net1.sock"][..])
        .prop_map(|path| Connection::VhostUser { socket: SocketPath::try_from(PathBuf::from(path)).unwrap() })
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

fn network_strategy(name: &NetworkName) -> impl Strategy<Value = NodeNetwork> + use<> {
    let usual = BridgeName::default_for(name);
    let bridge = prop_oneof![4 => Just(usual), 1 => bridge_name_strategy()];
    let base = network(name.as_str());
    (bridge, mtu_strategy(), vlan_strategy()).prop_map(move |(name, mtu, vlan)| {
        let mut network = base.clone();
        (network.bridge.name, network.bridge.mtu) = (name, mtu);
        network.port.vlan = vlan.map(|tag| Vlan::Access { tag });
        network
    })
}

fn networks_strategy() -> impl Strategy<Value = BTreeMap<NetworkName, NodeNetwork>> {
    let each = btree_set(network_name_strategy(), 0..=NETWORKS.len());
    each.prop_flat_map(|names| names.iter().map(network_strategy).collect::<Vec<_>>())
        .prop_map(|networks| networks.into_iter().map(|network| (network.name.clone(), network)).collect())
}

fn desired_attachment_strategy(id: &AttachmentId) -> impl Strategy<Value = DesiredAttachment> + use<> {
    let presence = select(&[Presence::Required, Presence::Required, Presence::Tolerated][..]);
    let bridge = option::weighted(0.2, bridge_name_strategy());
    let settings = (mtu_strategy(), vlan_strategy()).prop_map(|(mtu, vlan)| PortSettings { mtu, vlan });
    (network_name_strategy(), bridge, port_name_strategy(id), connection_strategy(), settings, presence).prop_map(
        |(network, bridge, name, connection, settings, presence)| {
            let bridge = bridge.unwrap_or_else(|| BridgeName::default_for(&network));
            let port = AttachedPort { name, bridge, connection, queues: Queues::default(), settings };
            DesiredAttachment { network, port, presence }
        },
    )
}

/// Anything that a node may be told to have, contradictions included.
pub(super) fn desired_strategy() -> impl Strategy<Value = Desired> {
    let ids = btree_set(attachment_strategy(), 0..=CONTAINERS.len());
    let attachments = ids.prop_flat_map(|ids| {
        ids.into_iter().map(|id| (Just(id.clone()), desired_attachment_strategy(&id))).collect::<Vec<_>>()
    });
    (networks_strategy(), attachments)
        .prop_map(|(networks, attachments)| Desired { networks, attachments: attachments.into_iter().collect() })
}

fn state_strategy() -> impl Strategy<Value = ElementState> {
    prop_oneof![
        4 => Just(ElementState::Running),
        1 => Just(ElementState::Pending),
        1 => Just(ElementState::Failed("could not open network device".to_owned())),
    ]
}

fn observed_bridge_strategy() -> impl Strategy<Value = ObservedBridge> {
    let mark = option::weighted(0.8, network_name_strategy());
    let mtu = option::weighted(0.8, mtu_strategy().prop_map(i64::from));
    (mark, prop::bool::weighted(0.9), mtu, state_strategy()).prop_map(|(mark, userspace, mtu, state)| ObservedBridge {
        mark,
        userspace,
        mtu,
        state,
        ports: BTreeMap::new(),
    })
}

fn observed_port_strategy() -> impl Strategy<Value = ObservedPort> {
    let mark = (network_name_strategy(), attachment_strategy())
        .prop_map(|(network, id)| PortMark { network, attachment: id.to_string() });
    let tagging = select(&[Tagging::Untagged, Tagging::Access(7), Tagging::Access(8), Tagging::Other][..]);
    let mtu = option::weighted(0.8, mtu_strategy().prop_map(i64::from));
    let connection = option::weighted(0.9, connection_strategy());
    (option::weighted(0.7, mark), connection, mtu, tagging, state_strategy())
        .prop_map(|(mark, connection, mtu, tagging, state)| ObservedPort { mark, connection, mtu, tagging, state })
}

/// Anything that an engine may show: foreign bridges and ports, wrong marks, drift, moved ports, one port on two bridges.
pub(super) fn observed_strategy() -> impl Strategy<Value = Observed> {
    let bridges =
        btree_map(select(&BRIDGES[..]).prop_map(str::to_owned), observed_bridge_strategy(), 0..=BRIDGES.len());
    let on = prop_oneof![8 => btree_set(select(&BRIDGES[..]), 1), 1 => btree_set(select(&BRIDGES[..]), 2)];
    let ports = btree_map(any_port_name_strategy(), (on, observed_port_strategy()), 0..=CONTAINERS.len() + 1);
    (bridges, ports).prop_map(|(bridges, ports)| with_ports(Observed { bridges }, &ports))
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

/// The same without anything that is not ours.
pub(super) fn own_observed_strategy() -> impl Strategy<Value = Observed> {
    observed_strategy().prop_map(|mut engine| {
        engine.bridges.retain(|_, bridge| bridge.mark.is_some());
        engine.bridges.values_mut().for_each(|bridge| bridge.ports.retain(|_, port| port.mark.is_some()));
        engine
    })
}
