//! Veth ports whose frames the packet threads of Open vSwitch have by AF_XDP.

use super::veth::{PATIENCE, PODS, add, assert_they_talk, program, within};
use crate::support::pod::Pod;
use crate::support::wait::await_that;
use crate::support::{TestNode, create_network_namespace, ip, on_a_node, on_a_node_with, record_in};
use serde_json::Value;
use usnet_crds::{KilobitsPerSecond, Mtu, NodeNetwork, RateLimit, VethDatapath, Vlan, VlanTag};
use usnet_test_abuse::{Frame, send};
use usnet_test_openvswitch::OpenVswitch;

const FRAMES: u64 = 10;

/// Attaches both pods to a network by AF_XDP; returns them with their results.
fn attach(node: &TestNode, change: impl FnOnce(&mut NodeNetwork)) -> [(Pod, Value); 2] {
    program(node, |network| {
        network.port.veth.datapath = VethDatapath::AfXdp;
        change(network);
    });
    create_network_namespace(PODS[1].0);
    PODS.map(|(namespace, name)| {
        let pod = node.pod(name);
        let result = add(node, &pod, namespace);
        (pod, result)
    })
}

fn detach(node: &TestNode, pods: &[(Pod, Value); 2]) {
    for ((pod, _), (namespace, _)) in pods.iter().zip(PODS) {
        node.call_with("DEL", pod, "net1", &[("CNI_NETNS", namespace)]).assert_done();
    }
    node.assert_clean();
}

/// How many interfaces of the switch are of each of these types.
fn types<const COUNT: usize>(node: &mut TestNode, types: [&str; COUNT]) -> [usize; COUNT] {
    let all = node.open_vswitch().vsctl(&["--bare", "--columns=type", "list", "Interface"]).unwrap();
    types.map(|kind| all.split_whitespace().filter(|found| *found == kind).count())
}

/// AF_XDP passes by what would limit it.
#[test]
fn pods_by_af_xdp_talk_and_one_whose_receiving_is_limited_has_the_other_datapath() {
    on_a_node(|node| {
        let pods = attach(node, |network| {
            let ingress_kbps = KilobitsPerSecond::try_from(100_000).ok();
            network.attachments[1].rate_limit = Some(RateLimit { ingress_kbps, ..RateLimit::default() });
        });
        assert_eq!(types(node, ["afxdp", "system"]), [1, 1]);
        assert_they_talk();
        detach(node, &pods);
    });
}

/// The kernel of a pod has the tag of a frame that it forwards beside it, as that of a frame of a
/// VLAN device. AF_XDP has none there, and the frame would be in the native VLAN.
#[test]
fn frames_that_the_kernel_of_a_pod_sends_with_tags_are_in_their_vlans() {
    on_a_node(|node| {
        let tag = |number: i64| VlanTag::try_from(number).unwrap();
        let pods = attach(node, |network| network.port.vlan = Some(Vlan::Trunk { trunks: [tag(100)].into() }));
        assert_eq!(types(node, ["afxdp"]), [2]);
        for command in [
            "link add br0 type bridge",
            "link set br0 up",
            "link set net1 master br0",
            "link add inner type veth peer name outer",
            "link set inner master br0",
            "link set inner up",
            "link set outer up",
        ] {
            ip(&[&["-n", "p"][..], &command.split(' ').collect::<Vec<_>>()].concat());
        }
        let before = received("q");
        // One that is not of the trunk comes first.
        for vlan in [7, 100] {
            let ends = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 0xaa]].concat();
            let bytes = [&ends[..], &[0x81, 0, 0, vlan, 0x88, 0xb5], &[vlan; 46]].concat();
            let frames: Vec<_> =
                (0..FRAMES).map(|_| Frame { name: "with a tag".to_owned(), bytes: bytes.clone() }).collect();
            within(PODS[0].0, move || send(None, "outer", &frames)).join().unwrap().unwrap();
        }
        await_that("frames of VLAN 100 arrive", PATIENCE, || received("q") >= before + FRAMES);
        assert_eq!(received("q"), before + FRAMES, "frames of another VLAN");
        detach(node, &pods);
    });
}

/// How many frames the interface of a pod has received.
fn received(pod: &str) -> u64 {
    let statistics: Value = serde_json::from_str(&ip(&["-n", pod, "-j", "-s", "link", "show", "net1"])).unwrap();
    statistics.pointer("/0/stats64/rx/packets").and_then(Value::as_u64).expect("a counter")
}

/// The kernel refuses programs for real, to a switch that may load none.
#[test]
fn pods_of_a_kernel_that_refuses_af_xdp_have_the_other_datapath_and_their_records_say_why() {
    on_a_node_with(OpenVswitch::builder().without_capabilities("bpf,sys_admin"), |node| {
        let pods = attach(node, |_| {});
        assert_eq!(types(node, ["afxdp", "system"]), [0, 2]);
        assert_they_talk();
        let records = node.records();
        assert_eq!(records.len(), 2);
        for record in &records {
            let port = &record_in(record)["port"];
            assert_eq!(port["connection"]["type"], "Veth", "{port}");
            let why = port["withoutAfXdp"].as_str().unwrap_or_default();
            assert!(why.contains("could not add network device"), "{port}");
        }
        for ((pod, result), (namespace, _)) in pods.iter().zip(PODS) {
            let again = node.call_with("ADD", pod, "net1", &[("CNI_NETNS", namespace)]).result();
            assert_eq!(again, *result, "ADD compares record and port");
        }
        detach(node, &pods);
    });
}

/// Open vSwitch 3.1 has such devices by AF_XDP in the generic mode, although a frame has a page.
/// The API refuses such networks.
#[test]
fn pods_with_an_mtu_that_af_xdp_does_not_have_get_the_other_datapath() {
    on_a_node_with(OpenVswitch::builder(), |node| {
        let pods = attach(node, |network| network.bridge.mtu = Mtu::try_from(9000).unwrap());
        assert_eq!(types(node, ["afxdp", "system"]), [0, 2]);
        assert_they_talk();
        detach(node, &pods);
    });
}

/// The killed switch leaves its programs on the devices, and its sockets are gone.
#[test]
fn after_the_switch_was_killed_ports_work_again_and_del_leaves_nothing_with_and_without_it() {
    on_a_node(|node| {
        let pods = attach(node, |_| {});
        assert_they_talk();
        node.open_vswitch().kill_vswitchd().unwrap();
        node.open_vswitch().start_vswitchd().unwrap();
        assert_they_talk();
        detach(node, &pods);

        let pods = PODS.map(|(namespace, name)| {
            let pod = node.pod(name);
            let result = add(node, &pod, namespace);
            (pod, result)
        });
        assert_they_talk();
        node.open_vswitch().kill_vswitchd().unwrap();
        assert!(ip(&["-d", "link", "show", "type", "veth"]).contains("prog/xdp"), "a killed switch leaves it");
        detach(node, &pods);
        node.open_vswitch().start_vswitchd().unwrap();
        assert_eq!(types(node, ["afxdp"]), [0]);
        node.assert_clean();
    });
}

/// A program with the privileges in a pod can do this.
#[test]
fn an_interface_that_its_pod_renames_or_moves_works_and_is_removed() {
    on_a_node(|node| {
        let pods = attach(node, |_| {});
        for command in ["link set net1 down", "link set net1 name other0", "link set other0 up"] {
            ip(&[&["-n", "p"][..], &command.split(' ').collect::<Vec<_>>()].concat());
        }
        ip(&["-n", "p", "addr", "replace", "10.56.0.1/24", "dev", "other0"]);
        ip(&["-n", "p", "addr", "replace", "fd00:1::1/64", "dev", "other0", "nodad"]);
        assert_they_talk();
        let result = &pods[0].1;
        assert!(node.check(&pods[0].0, "net1", result).message(106).contains("no interface net1"));
        create_network_namespace("/run/netns/elsewhere");
        ip(&["-n", "q", "link", "set", "net1", "netns", "elsewhere"]);
        detach(node, &pods);
        assert_eq!(ip(&["-n", "elsewhere", "-o", "link", "show", "type", "veth"]), "");
    });
}
