//! The interpretation of rows. The contract tests verify that Open vSwitch really reports such
//! rows.

use crate::engine::error::EngineError;
use crate::engine::ovs::{ATTACHMENT_KEY, EmptyDatabase, NETWORK_KEY, observed_from, ports_without_mtu};
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::port::{DeviceName, PortBackend, PortName};
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use usnet_crds::{MacLearning, Vlan, VlanTag, XdpMode};
use usnet_ovsdb::monitor::{Change, RowUpdate};
use usnet_ovsdb::schema::TABLES;
use usnet_ovsdb::{Cache, Row, Uuid, Value};

const SOCKET: &str = "/run/usnet/ports/1/net1.sock";

fn uuid(number: u8) -> Uuid {
    format!("00000000-0000-4000-8000-0000000000{number:02x}").parse().unwrap()
}

fn insert(table: &str, number: u8, row: Row) -> RowUpdate {
    RowUpdate { table: table.to_owned(), uuid: uuid(number), change: Change::Insert(row) }
}

fn vhost_user_interface() -> Row {
    Row::new()
        .with("name", "vhu1")
        .with("type", "dpdkvhostuserclient")
        .with("options", Value::map([("vhost-server-path", SOCKET)]))
        .with("ofport", 1)
}

/// The observed state of a bridge with this row.
fn observed_bridge(row: Row) -> ObservedBridge {
    let mut cache = Cache::new(&TABLES);
    let bridge = row.with("name", "br0").with("datapath_type", "netdev");
    cache.apply([insert("Open_vSwitch", 1, Row::new().with("bridges", uuid(2))), insert("Bridge", 2, bridge)]).unwrap();
    observed_from(&cache).unwrap().bridges.remove("br0").unwrap()
}

/// The observed state of a port with this row and this interface.
fn observed(port: Row, interface: Row) -> ObservedPort {
    observed_from(&cache(port, interface)).unwrap().bridges["br0"].ports[&PortName::observed("vhu1")].clone()
}

/// A database with a bridge that has this port.
fn cache(port: Row, interface: Row) -> Cache {
    let mut cache = Cache::new(&TABLES);
    let port = port.with("name", "vhu1").with("interfaces", uuid(4));
    let updates = [
        insert("Open_vSwitch", 1, Row::new().with("bridges", uuid(2))),
        insert(
            "Bridge",
            2,
            Row::new().with("name", "br0").with("ports", uuid(3)).with("datapath_id", "0000de064712d044"),
        ),
        insert("Port", 3, port),
        insert("Interface", 4, interface),
    ];
    cache.apply(updates).unwrap();
    cache
}

#[test]
fn an_unread_database_is_not_an_empty_switch() {
    let unread = observed_from(&Cache::new(&TABLES));
    assert!(matches!(unread, Err(EngineError::Unavailable { source, .. }) if source.is::<EmptyDatabase>()));
    let mut cache = Cache::new(&TABLES);
    cache.apply([insert("Open_vSwitch", 1, Row::new())]).unwrap();
    assert_eq!(observed_from(&cache).unwrap(), Observed::default());
}

#[test]
fn an_incomplete_tag_is_no_owner() {
    let tagged = |pairs: &[(&'static str, &'static str)]| {
        observed(Row::new().with("external_ids", Value::map(pairs.iter().copied())), vhost_user_interface()).owner
    };
    assert!(tagged(&[(NETWORK_KEY, "blue"), (ATTACHMENT_KEY, "c1.net1"), ("owner", "x")]).is_some());
    assert_eq!(tagged(&[(ATTACHMENT_KEY, "c1.net1")]), None);
    assert_eq!(tagged(&[(NETWORK_KEY, "blue")]), None);
    assert_eq!(tagged(&[(NETWORK_KEY, "Not A Network"), (ATTACHMENT_KEY, "c1.net1")]), None);
}

#[test]
fn a_bridge_learns_in_all_vlans_or_in_none_or_is_unsupported() {
    let learning = |vlans: Vec<i64>| {
        let bridge = observed_bridge(Row::new().with("flood_vlans", Value::set(vlans)));
        (bridge.has_supported_datapath, bridge.settings.mac_learning)
    };
    assert_eq!(learning(vec![]), (true, MacLearning::Enabled));
    assert_eq!(learning((0..=4095).collect()), (true, MacLearning::Disabled));
    assert!(!learning((1..=4095).collect()).0 && !learning(vec![0]).0);
}

#[test]
fn an_age_of_mac_addresses_that_is_no_number_is_none() {
    let age = |text: &str| {
        let other_config = Value::map([("mac-aging-time", text), ("forward-bpdu", "true")]);
        observed_bridge(Row::new().with("other_config", other_config)).settings.mac_age_seconds
    };
    assert_eq!((age("600"), age("ten minutes")), (Some(600), None));
    assert_eq!(observed_bridge(Row::new()).settings.mac_age_seconds, None);
}

#[test]
fn a_peer_is_connected_when_the_switch_reports_it() {
    let peer = |status: &'static str| {
        let interface = vhost_user_interface().with("status", Value::map([("status", status)]));
        observed(Row::new(), interface).peer
    };
    assert_eq!((peer("connected"), peer("disconnected")), (Peer::Connected, Peer::Absent));
    assert_eq!(observed(Row::new(), vhost_user_interface()).peer, Peer::Absent);
}

#[test]
fn a_port_is_in_vlans_as_its_columns_say_together() {
    let tagging = |port: Row| observed(port, vhost_user_interface()).settings.tagging;
    let tag = |tag: i64| VlanTag::try_from(tag).unwrap();
    let row = |mode: &'static str| Row::new().with("vlan_mode", mode);
    let (trunks, set) = (BTreeSet::from([tag(7), tag(8)]), || Value::set([8, 7]));
    let vlan = Tagging::Vlan;
    assert_eq!(tagging(Row::new()), Tagging::Untagged);
    assert_eq!(tagging(Row::new().with("tag", 7)), vlan(Vlan::Access { tag: tag(7) }));
    assert_eq!(tagging(row("access").with("tag", 7)), vlan(Vlan::Access { tag: tag(7) }));
    assert_eq!(tagging(row("trunk").with("trunks", set())), vlan(Vlan::Trunk { trunks: trunks.clone() }));
    assert_eq!(tagging(row("access").with("tag", 0)), Tagging::OnlyUntagged);
    let untagged = |trunks: &[i64]| tagging(row("trunk").with("trunks", Value::set(trunks.iter().copied())));
    assert_eq!(untagged(&[0, 8, 7]), Tagging::UntaggedAndTrunk(trunks.clone()));
    assert_eq!(untagged(&[0]), Tagging::UntaggedAndTrunk(BTreeSet::new()));
    let native = |mode| row(mode).with("tag", 5).with("trunks", set());
    let tagged = Vlan::NativeTagged { tag: tag(5), trunks: trunks.clone() };
    assert_eq!(tagging(native("native-tagged")), vlan(tagged));
    assert_eq!(tagging(native("native-untagged")), vlan(Vlan::NativeUntagged { tag: tag(5), trunks }));
}

#[test]
fn unsupported_combinations_of_vlan_columns_are_foreign() {
    let tagging = |port: Row| observed(port, vhost_user_interface()).settings.tagging;
    let row = |mode: &'static str| Row::new().with("vlan_mode", mode);
    for strange in [
        row("native-tagged").with("tag", 7),
        Row::new().with("trunks", Value::set([7, 8])),
        Row::new().with("tag", 7).with("trunks", Value::set([7])),
        row("trunk"),
        row("trunk").with("tag", 7).with("trunks", Value::set([7])),
        row("access"),
        Row::new().with("tag", 0),
        row("native-tagged").with("tag", 7).with("trunks", Value::set([0, 7])),
        Row::new().with("trunks", Value::set([0])),
        row("dot1q-tunnel").with("tag", 7),
    ] {
        assert_eq!(tagging(strange.clone()), Tagging::Other, "{strange:?}");
    }
}

#[test]
fn a_port_of_another_type_or_without_a_usable_socket_has_no_backend() {
    let backend = |interface: Row| observed(Row::new(), interface).backend;
    assert!(backend(vhost_user_interface()).is_some());
    assert_eq!(backend(vhost_user_interface().with("type", "internal")), None);
    let device = DeviceName::observed("vhu1");
    for kernel in ["", "system"] {
        assert_eq!(
            backend(vhost_user_interface().with("type", kernel)),
            Some(PortBackend::Device { device: device.clone() })
        );
    }
    assert_eq!(backend(vhost_user_interface().with("options", Value::map::<&str, &str>([]))), None);
    let long = format!("/{}", "x".repeat(crate::model::port::SOCKET_PATH_MAX));
    let options = Value::map([("vhost-server-path", long)]);
    assert_eq!(backend(vhost_user_interface().with("options", options)), None);
}

/// The rows of Open vSwitch 3.1 whose DPDK has memory for one port: `ovs-ofctl show` lists the
/// first and the last of these ports, and not the two in between.
#[test]
fn ports_whose_rows_do_not_say_whether_they_are_in_the_datapath_have_no_mtu() {
    let connected = vhost_user_interface()
        .with("status", Value::map([("mode", "client"), ("num_of_vrings", "2"), ("status", "connected")]));
    let disconnected =
        vhost_user_interface().with("status", Value::map([("mode", "client"), ("status", "disconnected")]));
    let tags = Value::map([(ATTACHMENT_KEY, "c1.net1"), (NETWORK_KEY, "blue")]);
    let named =
        |port: Row, interface: Row| ports_without_mtu(&cache(port, interface)).unwrap().into_values().flatten().next();
    let found = |interface: &Row| named(Row::new().with("external_ids", tags.clone()), interface.clone()).is_some();
    assert!(!found(&connected.clone().with("mtu", 1500)), "it works");
    assert!(found(&connected.with("mtu", 0)), "it has failed just now");
    assert!(found(&disconnected.clone().with("mtu", 0)), "the switch has tried again");
    assert!(found(&disconnected.clone().with("mtu", 0).with("ofport", 7)), "no program was ever there");
    assert!(!found(&disconnected.clone().with("mtu", 0).with("ofport", -1)), "its error says why");
    assert!(!found(&disconnected.clone().with("mtu", 0).with("type", "internal")));
    assert_eq!(named(Row::new(), disconnected.with("mtu", 0)), None, "it is not one of usnet");
}

#[test]
fn a_port_fails_with_the_error_of_open_vswitch_or_without_memory() {
    let state = |interface: Row| observed(Row::new(), interface).state;
    let connected = vhost_user_interface().with("status", Value::map([("status", "connected")]));
    assert_eq!(state(vhost_user_interface().with("mtu", 0)), ElementState::Running);
    assert_eq!(state(connected.clone().with("mtu", 1500)), ElementState::Running);
    assert_eq!(state(connected.with("mtu", 0)), ElementState::NoMemory);
    assert_eq!(state(vhost_user_interface().with("ofport", Value::empty())), ElementState::Pending);
    let refused = vhost_user_interface().with("ofport", -1);
    assert!(matches!(state(refused.clone()), ElementState::Failed(_)));
    assert_eq!(state(refused.with("error", "no device")), ElementState::Failed("no device".into()));
}

fn nic_of_dpdk() -> Row {
    let options = [("dpdk-devargs", "0000:02:00.0"), ("n_rxq", "2")];
    Row::new()
        .with("name", "vhu1")
        .with("type", "dpdk")
        .with("options", Value::map(options))
        .with("ofport", 1)
        .with("mtu_request", 9000)
        .with("mtu", 9000)
        .with("link_state", "up")
}

#[test]
fn a_nic_of_dpdk_has_an_address_queues_and_a_link() {
    let port = observed(Row::new(), nic_of_dpdk());
    assert_eq!(port.backend, Some(PortBackend::Dpdk { address: "0000:02:00.0".parse().unwrap() }));
    assert_eq!((port.settings.mtu, port.settings.receive_queues), (Some(9000), Some(2)));
    assert_eq!((port.peer, port.state), (Peer::Connected, ElementState::Running));
    let down = observed(Row::new(), nic_of_dpdk().with("link_state", "down"));
    assert_eq!((down.peer, down.state), (Peer::Absent, ElementState::Running));
    // Devices of other kinds are no NICs of usnet, nor are other forms of an address.
    for other in ["net_pcap0,iface=eth0", "0000:02:00.0,x=1", "02:00.0", "0000:02:00.0 "] {
        let other = nic_of_dpdk().with("options", Value::map([("dpdk-devargs", other)]));
        assert_eq!(observed(Row::new(), other).backend, None);
    }
}

/// Open vSwitch says it in its log alone.
#[test]
fn what_the_driver_of_a_nic_refuses_is_a_failure() {
    let failure = |interface| match observed(Row::new(), interface).state {
        ElementState::Failed(text) => text,
        other => panic!("{other:?}"),
    };
    let text = failure(nic_of_dpdk().with("mtu", 1500));
    assert!(text.contains("refuses MTU 9000") && text.contains("1500"), "{text}");
    let text = failure(nic_of_dpdk().with("status", Value::map([("max_rx_queues", "1")])));
    assert!(text.contains("at most 1 receive queues, and 2"), "{text}");
    let enough = nic_of_dpdk().with("status", Value::map([("max_rx_queues", "2")]));
    assert_eq!(observed(Row::new(), enough).state, ElementState::Running);
    let starting = nic_of_dpdk().with("mtu", 0);
    assert_eq!(observed(Row::new(), starting).state, ElementState::Running);
    let busy = failure(nic_of_dpdk().with("error", "Error attaching device '0000:02:00.0' to DPDK").with("ofport", -1));
    assert!(busy.contains("another program has it"), "{busy}");
}

#[test]
fn a_nic_by_af_xdp_has_a_mode_and_queues() {
    let options = |mode: &str| Value::map([("xdp-mode", mode), ("n_rxq", "4")]);
    let interface = |mode| Row::new().with("name", "vhu1").with("type", "afxdp").with("options", options(mode));
    let port = observed(Row::new(), interface("native").with("ofport", 1));
    let device = DeviceName::observed("vhu1");
    assert_eq!(port.backend, Some(PortBackend::AfXdp { device, mode: XdpMode::Native }));
    assert_eq!(port.settings.receive_queues, Some(4));
    assert_eq!(observed(Row::new(), interface("other")).backend, None);
    let refused = interface("native").with("ofport", -1).with("error", "could not add network device");
    let ElementState::Failed(text) = observed(Row::new(), refused).state else { panic!("it is refused") };
    assert!(text.contains("dmesg"), "{text}");
}
