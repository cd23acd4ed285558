//! Flows of a bridge are kept as its ports are in the database.

use super::scene::{BRIDGE, Scene, port_of, run};
use crate::open_vswitch::{TIMEOUT, vsctl};
use usnet_dataplane::ovs::guard;
use usnet_dataplane::ovs::{BridgeFlows, FrameSource, GuardedPorts, guarded_flows};
use usnet_openflow::PortNumber;
use usnet_planner::testing::attachment;

fn pod(text: &str) -> FrameSource {
    FrameSource::Pod {
        guard: text.parse().expect("a guard"),
        is_trunk: false,
        is_in_vlan: false,
        attachment: attachment("c1"),
    }
}

fn without_policies<const PORTS: usize>(ports: [(PortNumber, FrameSource); PORTS]) -> BridgeFlows {
    BridgeFlows::new(GuardedPorts::from(ports), None)
}

fn about(scene: &Scene, number: PortNumber) -> usize {
    scene.installed().iter().filter(|flow| guard::port_of(flow.cookie) == Some(number)).count()
}

#[test]
fn a_bridge_gets_what_it_lacks_once_and_keeps_what_another_client_writes_for_a_new_port() {
    run(|scene| {
        let [a, b, c] = ["a", "b", "c"].map(|pod| scene.number(&port_of(pod)));
        let ports = without_policies([
            (PortNumber::LOCAL, FrameSource::Network),
            (a, pod("02:00:00:00:00:0a 10.9.0.10")),
            (b, pod("02:00:00:00:00:0b any")),
        ]);
        let restore =
            |scene: &Scene| guarded_flows::restore(&scene.management(), TIMEOUT, &ports).expect("flows").wrong;
        assert_eq!(restore(scene), scene.installed().len());
        assert_eq!(restore(scene), 0);

        // The plugin adds c, which is not in what was read of the database.
        scene.connect().commit(&guard::replacement(c, guard::trusted(c))).expect("flows");
        assert_eq!((restore(scene), about(scene, c)), (0, 1));
        vsctl(&scene.daemons, &format!("del-port {BRIDGE} {}", port_of("c")));
        assert_eq!((restore(scene), about(scene, c)), (1, 0), "a flow of a port that is gone");
    });
}

#[test]
fn ports_that_come_change_and_go_have_their_flows() {
    run(|scene| {
        let [a, b, c] = ["a", "b", "c"].map(|pod| scene.number(&port_of(pod)));
        let before =
            without_policies([(a, pod("02:00:00:00:00:0a 10.9.0.10")), (b, pod("02:00:00:00:00:0b 10.9.0.11"))]);
        guarded_flows::restore(&scene.management(), TIMEOUT, &before).expect("flows");
        let after = without_policies([(a, pod("02:00:00:00:00:0a any")), (c, FrameSource::Network)]);
        let update = |scene: &Scene, before: &BridgeFlows, after: &BridgeFlows| {
            guarded_flows::update(&scene.management(), TIMEOUT, before, after).expect("flows")
        };
        assert_eq!(update(scene, &before, &after), about(scene, a) + about(scene, c));
        assert_eq!((about(scene, b), about(scene, c)), (0, 1));
        assert_eq!(update(scene, &without_policies([]), &after), 0, "the plugin has written them");
        assert_eq!(guarded_flows::restore(&scene.management(), TIMEOUT, &after).expect("flows").wrong, 0);
    });
}
