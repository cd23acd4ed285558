//! Uplinks: a NIC on a bridge of its own, and a pair of patch ports for each network. Where frames
//! go is what the switch says of them (`ofproto/trace`); the kernel of the tests may know no VLANs.

use super::{Kind, OneSwitch, vsctl};
use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, is_of_uplink, observe, port_name, tag};
use std::collections::BTreeSet;
use usnet_crds::{EngineKind, NetworkUplink, NodeNetwork};
use usnet_dataplane::bridge::BridgeOwner;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::port::{DesiredPort, DeviceName, PortName, PortPolicy};
use usnet_dataplane::uplink::{DesiredNic, DesiredUplink};
use usnet_test_openvswitch::OpenVswitch as Daemons;

/// The NIC, and the other end of its cable.
pub(super) const NIC: &str = "nic0";
const WIRE: &str = "wire";
pub(super) const UPLINK_BRIDGE: &str = "br-up-fab";

/// A switch without DPDK, on a node with a NIC.
pub(super) fn start() -> OneSwitch {
    let switch = OneSwitch { daemons: Daemons::start().expect("Open vSwitch"), kind: Kind::Veth };
    plug_nic(&switch);
    switch
}

/// The kernel sends nothing of its own on it.
fn plug_nic(switch: &OneSwitch) {
    ip(switch, &format!("link add {NIC} mtu 1600 type veth peer name {WIRE} mtu 1600"));
    for end in [NIC, WIRE] {
        ip(switch, &format!("link set {end} addrgenmode none"));
        ip(switch, &format!("link set {end} up"));
    }
}

pub(super) fn ip(switch: &OneSwitch, arguments: &str) -> String {
    let output = switch.command("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn nic_index(switch: &OneSwitch) -> u32 {
    let output = ip(switch, &format!("-o link show dev {NIC}"));
    output.split(':').next().and_then(|index| index.parse().ok()).expect("an index")
}

fn on_uplink(switch: &OneSwitch, name: &str, vlan: Option<i64>) -> NodeNetwork {
    let uplink = NetworkUplink { name: "fab".parse().expect("a name"), vlan: vlan.map(tag) };
    NodeNetwork { uplink: Some(uplink), ..switch.network(name) }
}

/// These networks on the uplink, each with a pod of its name.
pub(super) fn desired(switch: &OneSwitch, networks: &[(&str, Option<i64>)]) -> Desired {
    let networks: Vec<_> = networks.iter().map(|(name, vlan)| on_uplink(switch, name, *vlan)).collect();
    let nic = Some(DesiredNic::kernel(&DeviceName::observed(NIC), nic_index(switch), [2, 0, 0, 0, 0, 1]));
    let vlans = networks.iter().filter_map(|network| Some(network.uplink.as_ref()?.vlan));
    let uplink = DesiredUplink::of(EngineKind::OpenVswitch, &"fab".parse().expect("a name"), nic, vlans);
    let patches = networks.iter().filter_map(|network| DesiredPort::of_patch(network, PortPolicy::Ensure));
    let pods = networks.iter().map(|network| (network.name.as_str(), network));
    let desired = switch.with_pods(Desired::new(networks.clone(), []), pods);
    desired.with_uplinks(uplink).with_ports(patches)
}

/// The numbers of ports in the datapath, which traces name.
pub(super) fn number(switch: &OneSwitch, port: &str) -> String {
    let output = switch.appctl(&["dpif/show"]).expect("the ports of the datapath");
    let line = output.lines().find(|line| line.trim().starts_with(&format!("{port} "))).expect("the port");
    let number = line.trim().split([' ', '/', ':']).nth(2).expect("a number");
    number.to_owned()
}

/// What the switch does with a broadcast that enters by a port.
pub(super) fn broadcast(switch: &OneSwitch, bridge: &str, port: &str, fields: &str) -> String {
    let flow = format!("in_port={port},dl_src=02:00:00:00:00:99,dl_dst=ff:ff:ff:ff:ff:ff,dl_type=0x88b5{fields}");
    let trace = switch.appctl(&["ofproto/trace", bridge, &flow]).expect("a trace");
    let actions = trace.lines().find_map(|line| line.strip_prefix("Datapath actions: ")).expect("actions");
    actions.to_owned()
}

/// The pods that a broadcast from the wire reaches, without its tag.
fn reached(switch: &OneSwitch, vlan: Option<i64>, pods: &[&str]) -> BTreeSet<String> {
    let fields = vlan.map_or(String::new(), |tag| format!(",dl_vlan={tag}"));
    let actions = broadcast(switch, UPLINK_BRIDGE, NIC, &fields);
    assert_eq!(actions.contains("pop_vlan"), vlan.is_some() && actions != "drop", "{actions}");
    let outputs: BTreeSet<_> = actions.split(',').collect();
    let is_output = |pod: &&&str| outputs.contains(number(switch, port_name(pod).as_str()).as_str());
    pods.iter().filter(is_output).map(|pod| (*pod).to_owned()).collect()
}

fn pods(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn networks_share_a_nic_by_vlans_and_leave_it_as_it_was() {
    let switch = start();
    let mut engine = switch.engine();
    let all = ["blue", "green", "red"];
    let three = desired(&switch, &[("blue", Some(100)), ("green", None), ("red", Some(200))]);
    let operations = converge(&mut engine, &three);
    assert_eq!(reached(&switch, Some(100), &all), pods(&["blue"]));
    assert_eq!(reached(&switch, Some(200), &all), pods(&["red"]));
    assert_eq!(reached(&switch, Some(300), &all), pods(&[]));
    assert_eq!(reached(&switch, None, &all), pods(&["green"]));
    let nic = number(&switch, NIC);
    let sent = broadcast(&switch, "br-blue", port_name("blue").as_str(), "");
    assert!(sent.contains("push_vlan(vid=100") && sent.split(',').any(|action| action == nic), "{sent}");
    assert!(!broadcast(&switch, "br-green", port_name("green").as_str(), "").contains("push_vlan"));
    for pod in ["blue", "green"] {
        let tagged = broadcast(&switch, &format!("br-{pod}"), port_name(pod).as_str(), ",dl_vlan=200");
        assert!(!tagged.split(',').any(|action| action == nic), "{pod} sends into another VLAN: {tagged}");
    }

    let dump = switch.dump();
    assert!(apply(&mut engine, &operations).iter().all(Result::is_ok));
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    let identities = || [port_name("blue"), PortName::observed(NIC)].map(|port| switch.port_identity(&port));
    let kept = identities();
    converge(&mut engine, &desired(&switch, &[("blue", Some(100))]));
    assert_eq!(vsctl(&switch, &format!("get Port {NIC} trunks")).trim(), "[100]");
    assert_eq!(reached(&switch, None, &["blue"]), pods(&[]));
    assert_eq!(identities(), kept);

    // One operation after the other: the NIC is never a trunk of all VLANs.
    let nothing = Desired::default();
    for operation in diff(&nothing, &observe(&mut engine)) {
        assert_eq!(apply(&mut engine, std::slice::from_ref(&operation)), [Ok(())], "{operation}");
        let trunks = vsctl(&switch, &format!("--bare --columns=trunks find Port name={NIC}"));
        assert!(["", "100"].contains(&trunks.trim()), "{operation}: {trunks}");
    }
    assert_eq!(diff(&nothing, &observe(&mut engine)), []);
    assert_eq!(vsctl(&switch, "list-br"), "");
    let nic = ip(&switch, &format!("-d link show dev {NIC}"));
    assert!(nic.contains("promiscuity 0") && nic.contains("mtu 1600") && nic.contains(",UP"), "{nic}");
}

/// Frames that have arrived at a pod.
fn received(switch: &OneSwitch, pod: &str) -> u64 {
    let device = port_name(pod).as_str().replace("vhu", "pod");
    let path = format!("/sys/class/net/{device}/statistics/rx_packets");
    let output = switch.command("cat").arg(path).output().expect("cat");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// Whether an ARP request from the wire reaches a pod of a network without a VLAN.
fn is_connected(switch: &OneSwitch, pod: &str, address: u8) -> bool {
    let before = received(switch, pod);
    let request = ["arping", "-q", "-c", "2", "-w", "2", "-I", WIRE, &format!("192.0.2.{address}")];
    // No answer is expected.
    let _unanswered = switch.command("busybox").args(request).output().expect("busybox");
    received(switch, pod) > before
}

#[test]
fn a_nic_that_was_created_again_is_joined_again_and_one_that_is_gone_stays() {
    let switch = start();
    let mut engine = switch.engine();
    ip(&switch, &format!("addr add 192.0.2.1/24 dev {WIRE}"));
    let first = desired(&switch, &[("green", None)]);
    converge(&mut engine, &first);
    assert!(is_connected(&switch, "green", 2));
    let identity = switch.port_identity(&port_name("green"));

    ip(&switch, &format!("link del {WIRE}"));
    let mut gone = first.clone();
    gone.uplinks.values_mut().for_each(|uplink| uplink.nic = None);
    assert_eq!(diff(&gone, &observe(&mut engine)), []);
    plug_nic(&switch);
    ip(&switch, &format!("addr add 192.0.2.1/24 dev {WIRE}"));
    assert!(!is_connected(&switch, "green", 3), "the switch does not notice");
    let operations = converge(&mut engine, &desired(&switch, &[("green", None)]));
    let texts: Vec<_> = operations.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            format!("remove port {NIC} of uplink fab from bridge {UPLINK_BRIDGE}"),
            format!("join NIC {NIC} of uplink fab to bridge {UPLINK_BRIDGE} for no VLAN"),
        ]
    );
    assert!(is_connected(&switch, "green", 4));
    assert_eq!(switch.port_identity(&port_name("green")), identity, "a port beside it was touched");
}

#[test]
fn what_others_change_is_repaired() {
    let switch = start();
    let mut engine = switch.engine();
    let both = desired(&switch, &[("blue", Some(100)), ("red", Some(200))]);
    converge(&mut engine, &both);
    let blue = "blue".parse().expect("a name");
    let end = PortName::of_uplink_end(&blue);
    for change in [
        format!("clear Port {NIC} trunks"),
        format!("set Port {NIC} trunks=100,200,300"),
        format!("set Port {NIC} vlan_mode=access tag=100 trunks=[]"),
        format!("set Port {end} tag=300"),
        format!("set Interface {end} options:peer=other"),
        format!("del-port {}", PortName::of_network_end(&blue)),
        format!("del-port {NIC}"),
        format!("del-br {UPLINK_BRIDGE}"),
    ] {
        vsctl(&switch, &change);
        assert!(!converge(&mut engine, &both).is_empty(), "{change}");
        assert_eq!(reached(&switch, Some(100), &["blue", "red"]), pods(&["blue"]), "{change}");
        assert_eq!(reached(&switch, Some(300), &["blue", "red"]), pods(&[]), "{change}");
    }
}

/// Applies what a plan for an empty switch would be; the results by text.
fn force(switch: &OneSwitch, spec: &Desired) -> Vec<(Op, Result<(), OpError>)> {
    let operations = diff(spec, &usnet_dataplane::observed::Observed::default());
    let uplinks: Vec<_> = operations.into_iter().filter(is_of_uplink).collect();
    let results = apply(&mut switch.engine(), &uplinks);
    uplinks.into_iter().zip(results).collect()
}

#[test]
fn bridges_and_ports_of_others_are_not_changed() {
    let spec = |switch: &OneSwitch| desired(switch, &[("blue", Some(100))]);
    let blue = "blue".parse().expect("a name");
    for theirs in [
        format!("add-br {UPLINK_BRIDGE} -- set Bridge {UPLINK_BRIDGE} datapath_type=netdev"),
        format!("add-br br0 -- set Bridge br0 datapath_type=netdev -- add-port br0 {NIC}"),
        format!(
            "add-br br0 -- set Bridge br0 datapath_type=netdev -- add-port br0 {end} -- set Interface {end} type=patch options:peer=x",
            end = PortName::of_uplink_end(&blue)
        ),
    ] {
        let switch = start();
        let mut engine = switch.engine();
        converge(&mut engine, &Desired::new([switch.network("blue")], []));
        vsctl(&switch, &theirs);
        let dump = switch.dump();
        let foreign = force(&switch, &spec(&switch)).into_iter().find_map(|(_, result)| result.err());
        assert!(matches!(foreign, Some(OpError::Foreign { .. })), "{theirs}: {foreign:?}");
        let rows = |dump: &str| dump.lines().filter(|line| line.contains("br0") || line.contains(NIC)).count();
        if theirs.starts_with(&format!("add-br {UPLINK_BRIDGE}")) {
            assert_eq!(switch.dump(), dump, "{theirs}");
        } else {
            assert!(rows(&switch.dump()) >= rows(&dump), "{theirs}");
        }
        // Nor by a plan that has seen them.
        let planned = diff(&Desired::default(), &observe(&mut engine));
        let touches = |operation: &Op| operation.to_string().contains("br0");
        assert!(!planned.iter().any(touches), "{theirs}: {planned:?}");
    }
}

#[test]
fn an_operation_that_was_overtaken_changes_nothing() {
    let switch = start();
    let mut engine = switch.engine();
    let one = desired(&switch, &[("blue", Some(100))]);
    converge(&mut engine, &one);
    let two = desired(&switch, &[("blue", Some(100)), ("red", Some(200))]);
    let set_vlans = diff(&two, &observe(&mut engine))
        .into_iter()
        .find(|operation| operation.kind() == "UpdateNic")
        .expect("another VLAN");
    vsctl(&switch, &format!("remove Port {NIC} external_ids usnet.dev/uplink"));
    let dump = switch.dump();
    let result = apply(&mut engine, &[set_vlans]).remove(0);
    assert_eq!(result, Err(OpError::PortMissing { port: PortName::observed(NIC) }));
    let owner = BridgeOwner::Uplink("fab".parse().expect("a name"));
    let remove = Op::RemoveBridge { bridge: UPLINK_BRIDGE.to_owned(), owner };
    let result = apply(&mut engine, &[remove]).remove(0);
    assert_eq!(result, Err(OpError::BridgeInUse { bridge: UPLINK_BRIDGE.to_owned() }));
    assert_eq!(switch.dump(), dump);
    assert!(observe(&mut engine).bridges[bridge(&switch.network("blue"))].ports.len() == 2);
}
