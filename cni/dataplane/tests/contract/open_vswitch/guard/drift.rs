//! Flows of a guard that other clients delete, add or change.

use super::frames;
use super::scene::{BRIDGE, Scene, run};
use crate::open_vswitch::vsctl;
use usnet_dataplane::ovs::guard::AntiSpoofing;
use usnet_openflow::Difference;

fn ofctl(scene: &Scene, arguments: &str) {
    let mut command = scene.daemons.command("ovs-ofctl");
    let command = command.env("OVS_RUNDIR", scene.daemons.folder()).args(arguments.split(' '));
    assert!(command.status().expect("ovs-ofctl").success(), "{arguments}");
}

#[test]
fn a_flow_that_was_deleted_or_added_by_hand_is_found_and_put_right() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Address);
        scene.guard(&port);
        let desired = scene.desired(&port);
        let difference = |scene: &Scene| Difference::between(&desired, scene.installed());
        assert!(difference(scene).is_empty());
        let a = port.number;
        for (change, missing, surplus) in [
            (format!("--strict del-flows {BRIDGE} priority=10,in_port={a}"), 1, 0),
            (format!("del-flows {BRIDGE} arp,in_port={a}"), 3, 0),
            (format!("add-flow {BRIDGE} priority=200,actions=NORMAL"), 0, 1),
            (format!("add-flow {BRIDGE} priority=200,in_port={a},udp,tp_src=7,actions=NORMAL"), 0, 1),
            (format!("add-flow {BRIDGE} priority=10,in_port={a},actions=NORMAL"), 1, 1),
            (format!("--strict mod-flows {BRIDGE} priority=10,in_port={a},actions=NORMAL"), 1, 1),
            (format!("del-flows {BRIDGE}"), desired.len(), 0),
        ] {
            ofctl(scene, &change);
            let found = difference(scene);
            assert_eq!((found.missing.len(), found.surplus.len()), (missing, surplus), "{change}");
            scene.connect().commit(&found.changes()).expect("flows");
            assert!(difference(scene).is_empty(), "{change}");
        }
        assert_eq!(scene.arrived(&frames::forged()), [[].into(), [].into()]);
    });
}

/// The first controller empties the table, as a change of `fail_mode` does.
#[test]
fn a_bridge_whose_flows_were_flushed_is_closed_and_found() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Address);
        scene.guard(&port);
        let desired = scene.desired(&port);
        vsctl(&scene.daemons, &format!("set-controller {BRIDGE} tcp:127.0.0.1:9"));
        let found = Difference::between(&desired, scene.installed());
        assert_eq!((found.missing.len(), found.surplus.len()), (desired.len(), 0));
        scene.connect().commit(&found.changes()).expect("flows");
        assert_eq!(scene.arrived(&frames::forged()), [[].into(), [].into()]);
    });
}
