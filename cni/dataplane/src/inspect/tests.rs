//! Recorded answers of the engines.

use super::{LearnedMac, PortKind, open_vswitch, vpp};
use crate::model::attachment::AttachmentId;
use crate::model::port::PortName;
use std::collections::BTreeMap;
use usnet_vpp::messages::{L2FibTableDetails, SwInterfaceDetails};
use usnet_vpp::wire::FixedText;

#[test]
fn the_mac_table_of_open_vswitch_names_ports_as_its_database_does() {
    let text = " port  VLAN  MAC                Age\n    2   100  02:00:7C:00:00:01    3\nLOCAL     0  0a:00:00:00:00:01    0\n    7     0  02:00:00:00:00:09  static\n   11     0  02:00:00:00:00:0a    1\n";
    let names =
        BTreeMap::from([("2".to_owned(), "vhu0123456789a".to_owned()), ("7".to_owned(), "usn-0123456789".to_owned())]);
    let learned = open_vswitch::parse(text, &names);
    let expected = [
        ("02:00:7c:00:00:01", 100, "vhu0123456789a", PortKind::Pod, Some(3)),
        ("0a:00:00:00:00:01", 0, "LOCAL", PortKind::Other, Some(0)),
        ("02:00:00:00:00:09", 0, "usn-0123456789", PortKind::Nodes, None),
        ("02:00:00:00:00:0a", 0, "11", PortKind::Other, Some(1)),
    ];
    let expected = expected.map(|(mac, vlan, port, kind, age_seconds)| LearnedMac {
        mac: mac.to_owned(),
        vlan: Some(vlan),
        port: port.to_owned(),
        kind,
        age_seconds,
    });
    assert_eq!(learned, expected);
    assert_eq!(open_vswitch::parse("", &names), []);
}

fn uuid(number: u32) -> usnet_ovsdb::Uuid {
    format!("00000000-0000-0000-0000-{number:012}").parse().unwrap()
}

fn port() -> usnet_ovsdb::Port {
    usnet_ovsdb::Port {
        uuid: uuid(2),
        name: "vhu1".to_owned(),
        interfaces: [uuid(3)].into(),
        tag: Some(100),
        trunks: [7, 8].into(),
        vlan_mode: None,
        is_protected: false,
        lacp: None,
        bond_mode: None,
        bond_active_slave: None,
        other_config: BTreeMap::new(),
        qos: None,
        external_ids: BTreeMap::new(),
    }
}

fn tables() -> open_vswitch::Tables {
    use usnet_ovsdb::{Bridge, Interface};
    let interface = Interface {
        uuid: uuid(3),
        name: "vhu1".to_owned(),
        interface_type: "dpdkvhostuserclient".to_owned(),
        ofport: Some(4),
        error: None,
        mtu: None,
        mtu_request: Some(1500),
        ingress_policing_rate: 0,
        ingress_policing_burst: 0,
        options: [("vhost-server-path", "/run/c1.sock"), ("psk", "secret")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        other_config: BTreeMap::new(),
        status: [("status".to_owned(), "connected".to_owned())].into(),
        link_state: None,
        mac_in_use: None,
        lacp_current: None,
        external_ids: BTreeMap::new(),
    };
    let bridge = Bridge {
        uuid: uuid(1),
        name: "br-blue".to_owned(),
        datapath_type: "netdev".to_owned(),
        datapath_id: None,
        ports: [uuid(2)].into(),
        external_ids: BTreeMap::new(),
        flood_vlans: [].into(),
        fail_mode: None,
        controller: [].into(),
        protocols: [].into(),
        stp_enable: false,
        rstp_enable: false,
        mcast_snooping_enable: false,
        other_config: BTreeMap::new(),
    };
    open_vswitch::Tables { switch: Vec::new(), bridges: vec![bridge], ports: vec![port()], interfaces: vec![interface] }
}

#[test]
fn the_rows_of_open_vswitch_are_printed_as_its_own_tools_do() {
    let expected = "bridge br-blue  netdev  id []  flood_vlans []  other_config {}  external_ids {}
  port vhu1  tag 100  trunks [7, 8]  mode []  qos false  external_ids {}
    interface vhu1  type dpdkvhostuserclient  ofport 4  mtu [] of 1500  link []  error []  status {status=connected}  options {vhost-server-path=/run/c1.sock}
";
    assert_eq!(open_vswitch::show(&tables()), expected);
}

#[test]
fn the_mac_table_of_vpp_names_the_ports_of_pods_and_leaves_out_gateways() {
    let attachment: AttachmentId = "c1.net1".parse().unwrap();
    let interface = |sw_if_index: u32, name: &str, tag: &str| SwInterfaceDetails {
        sw_if_index,
        interface_name: FixedText::new(name).unwrap(),
        tag: FixedText::new(tag).unwrap(),
        ..SwInterfaceDetails::default()
    };
    let interfaces =
        [interface(1, "memif1/0", "usn=c1.net1"), interface(2, "host-up.7", "usnet:blue"), interface(3, "loop0", "")];
    let entry = |sw_if_index: u32, bvi_mac: bool| L2FibTableDetails {
        bd_id: 4,
        mac: [2, 0, 0, 0, 0, 0xab],
        sw_if_index,
        bvi_mac,
        ..L2FibTableDetails::default()
    };
    let table = [entry(1, false), entry(2, false), entry(3, true), entry(9, false)];
    let learned = vpp::macs(&table, &interfaces);
    let found: Vec<_> = learned.iter().map(|entry| (entry.port.as_str(), entry.kind)).collect();
    let port = PortName::of(&attachment);
    assert_eq!(
        found,
        [(port.as_str(), PortKind::Pod), ("host-up.7", PortKind::Nodes), ("interface 9", PortKind::Other)]
    );
    assert!(learned.iter().all(|entry| entry.mac == "02:00:00:00:00:ab"), "{learned:?}");
}
