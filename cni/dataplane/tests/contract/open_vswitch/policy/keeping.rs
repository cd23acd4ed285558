//! The flows of guards and policies are kept together, as ports and policies say.

use super::changes::server;
use super::packets::{BROADCAST, UDP};
use super::scene::{BRIDGE, Scene, address, ends, mac_text, run};
use crate::open_vswitch::TIMEOUT;
use usnet_dataplane::ovs::{BridgeFlows, FrameSource, GuardedPorts, NetworkPolicies, PortOwner, guarded_flows};
use usnet_openflow::FlowFilter;
use usnet_planner::testing::attachment;

const ZONE: u16 = 64_999;

pub(super) fn ports(scene: &Scene) -> GuardedPorts {
    let pod = |end: &str| {
        let addresses = [true, false].map(|is_ipv4| address(end, is_ipv4).to_string()).join(" ");
        let guard = format!("{} {addresses}", mac_text(end)).parse().expect("a guard");
        FrameSource::Pod { guard, is_trunk: false, is_in_vlan: false, attachment: attachment(end) }
    };
    let pods = ["a", "b", "c"].map(|end| (scene.numbers[end], pod(end)));
    pods.into_iter().chain([(scene.numbers["u"], FrameSource::Network)]).collect()
}

/// Pods of the namespace b are servers; the namespace of the pod c is not known.
pub(super) fn policies() -> NetworkPolicies {
    let owner = |end: &str| PortOwner { namespace: end.parse().expect("a namespace"), uid: end.to_owned() };
    let owners = ["a", "b"].map(|end| (attachment(end), owner(end))).into();
    NetworkPolicies { zone: ZONE, policies: server(80, 80).into(), pods: Default::default(), owners }
}

pub(super) fn restore(scene: &Scene, policies: Option<&NetworkPolicies>) -> usize {
    let flows = BridgeFlows::new(ports(scene), policies.cloned());
    guarded_flows::restore(&scene.management(), TIMEOUT, &flows).expect("flows").wrong
}

/// Whether a packet arrives at b at the port of its policy, and whether one does at another port.
fn arrives(scene: &mut Scene, number: u16) -> [bool; 2] {
    scene.settle_flows();
    [80, 81].map(|port| scene.reaches("u", "b", ends("u", "b", true).first(UDP, [10_000 + number, port])))
}

#[test]
fn what_others_change_and_what_a_restart_takes_is_written_again() {
    run(|scene| {
        scene.closed.insert("c".to_owned());
        assert!(restore(scene, Some(&policies())) > 100);
        assert_eq!((restore(scene, Some(&policies())), arrives(scene, 0)), (0, [true, false]));
        for (number, change) in (1..).zip([
            format!("-O OpenFlow14 del-flows {BRIDGE} table=30"),
            format!("-O OpenFlow14 del-groups {BRIDGE}"),
            format!("-O OpenFlow14 mod-group {BRIDGE} group_id=512,type=all,bucket=actions=FLOOD"),
            format!("-O OpenFlow14 add-flow {BRIDGE} table=30,priority=200,actions=goto_table:39"),
            format!("-O OpenFlow10 mod-port {BRIDGE} port-b flood"),
        ]) {
            let mut command = scene.daemons.command("ovs-ofctl");
            let command = command.env("OVS_RUNDIR", scene.daemons.folder()).args(change.split(' '));
            assert!(command.status().expect("ovs-ofctl").success(), "{change}");
            assert!(restore(scene, Some(&policies())) > 0, "{change}");
            assert_eq!((restore(scene, Some(&policies())), arrives(scene, number)), (0, [true, false]), "{change}");
        }
        scene.daemons.kill_vswitchd().expect("a signal");
        scene.daemons.start_vswitchd().expect("a switch");
        assert!(scene.connect().flows(&FlowFilter::default()).expect("flows").is_empty());
        assert!(restore(scene, Some(&policies())) > 100);
        assert_eq!((restore(scene, Some(&policies())), arrives(scene, 99)), (0, [true, false]));
    });
}

#[test]
fn without_policies_a_bridge_forwards_what_its_guards_allow() {
    run(|scene| {
        restore(scene, Some(&policies()));
        assert!(restore(scene, None) > 0);
        // The switch learns where it is.
        scene.settle("b");
        assert_eq!((restore(scene, None), arrives(scene, 0)), (0, [true, true]));
        assert_eq!(scene.connect().groups().expect("groups"), []);
        let broadcast = ends("u", "b", true).to_mac(BROADCAST).first(UDP, [7, 81]);
        let arrived = scene.arrived("u", &[broadcast]);
        assert!(arrived.values().all(|places| places.len() == 1), "what is flooded reaches all again: {arrived:?}");
    });
}
