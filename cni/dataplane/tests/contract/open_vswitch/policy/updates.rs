//! What changes of ports and policies is written without reading the flows of a bridge.

use super::changes::server;
use super::keeping::{policies, ports, restore};
use super::packets::UDP;
use super::scene::{BRIDGE, Scene, ends, mac_text, run};
use crate::open_vswitch::TIMEOUT;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use usnet_crds::policy::Policy;
use usnet_dataplane::ovs::{BridgeFlows, FrameSource, NetworkPolicies, PortOwner, guarded_flows};
use usnet_openflow::PortNumber;
use usnet_planner::testing::attachment;

/// How long the switch may take for a thousand ports.
const LONG: Duration = Duration::from_secs(30);

fn flows(scene: &Scene, policies: Option<&NetworkPolicies>, without: &[&str]) -> BridgeFlows {
    let mut ports = ports(scene);
    without.iter().for_each(|end| drop(ports.remove(&scene.numbers[*end])));
    BridgeFlows::new(ports, policies.cloned())
}

fn update(scene: &Scene, before: &BridgeFlows, after: &BridgeFlows) -> usize {
    guarded_flows::update(&scene.management(), TIMEOUT, before, after).expect("flows")
}

#[test]
fn an_update_leaves_what_a_comparison_would() {
    run(|scene| {
        let known = policies();
        let others = NetworkPolicies { policies: server(80, 99).into(), ..known.clone() };
        let unknown = NetworkPolicies { policies: [].into(), owners: BTreeMap::new(), ..known.clone() };
        let other_zone = NetworkPolicies { zone: known.zone - 1, ..known.clone() };
        let states = [
            flows(scene, Some(&known), &["a", "c"]),
            flows(scene, Some(&known), &["c"]),
            flows(scene, Some(&others), &[]),
            flows(scene, Some(&unknown), &["b"]),
            flows(scene, None, &["b"]),
            flows(scene, Some(&known), &[]),
            flows(scene, Some(&other_zone), &["u"]),
            flows(scene, None, &[]),
            flows(scene, Some(&unknown), &[]),
            flows(scene, Some(&known), &["a"]),
        ];
        let mut before = &states[0];
        guarded_flows::restore(&scene.management(), TIMEOUT, before).expect("flows");
        for (number, state) in states.iter().enumerate().skip(1) {
            assert!(update(scene, before, state) > 0, "{number}");
            let wrong = guarded_flows::restore(&scene.management(), TIMEOUT, state).expect("flows").wrong;
            assert_eq!((wrong, update(scene, state, state)), (0, 0), "{number}");
            before = state;
        }
    });
}

#[test]
fn a_new_port_has_what_it_may_have_and_a_former_one_of_its_number_leaves_it_nothing() {
    run(|scene| {
        scene.closed.insert("c".to_owned());
        let without = flows(scene, Some(&policies()), &["b"]);
        guarded_flows::restore(&scene.management(), TIMEOUT, &without).expect("flows");
        // What a former port and the plugin may have written.
        let number = scene.numbers["b"];
        let own = usnet_dataplane::ovs::guard::trusted(number);
        let changes = usnet_dataplane::ovs::guard::replacement(number, own);
        scene.connect().commit(&changes).expect("flows");
        update(scene, &without, &flows(scene, Some(&policies()), &[]));
        let arrives = [80, 81].map(|port| scene.reaches("u", "b", ends("u", "b", true).first(UDP, [10_000, port])));
        assert_eq!((arrives, restore(scene, Some(&policies()))), ([true, false], 0));
    });
}

/// Whether an answer of b to a packet passes, of which the switch remembers the connection.
fn answers(scene: &mut Scene) -> bool {
    scene.settle_flows();
    scene.reaches("b", "u", ends("u", "b", true).answer(UDP, [7_000, 80]))
}

#[test]
fn connections_outlive_the_agent_and_not_the_network_of_their_zone() {
    run(|scene| {
        scene.closed.insert("c".to_owned());
        restore(scene, Some(&policies()));
        assert!(!answers(scene), "nothing was asked");
        assert!(scene.reaches("u", "b", ends("u", "b", true).first(UDP, [7_000, 80])));
        assert!(answers(scene));
        assert_eq!((restore(scene, Some(&policies())), answers(scene)), (0, true), "a new agent looks at the flows");
        let one = format!("-O OpenFlow14 del-flows {BRIDGE} table=11,ip,dl_dst={}", mac_text("b"));
        let mut command = scene.daemons.command("ovs-ofctl");
        let command = command.env("OVS_RUNDIR", scene.daemons.folder()).args(one.split(' '));
        assert!(command.status().expect("ovs-ofctl").success());
        assert!(restore(scene, Some(&policies())) > 0 && answers(scene), "a flow was missing");
        // As if another network had the zone now.
        restore(scene, None);
        restore(scene, Some(&policies()));
        assert!(!answers(scene), "it is the connection of before");
    });
}

/// A thousand ports of pods, in a hundred namespaces with a policy each, and the port `u`. The
/// switch takes flows also for numbers that no port has.
fn many(scene: &Scene, count: u16) -> BridgeFlows {
    let mac = |number: u16| format!("02:00:00:01:{:02x}:{:02x}", number >> 8, number & 0xff);
    let id = |number: u16| attachment(&format!("many-{number}"));
    let namespace = |number: u16| format!("n{}", number % 100).parse().expect("a namespace");
    let pod = |number: u16| FrameSource::Pod {
        guard: format!("{} 10.8.{}.{}", mac(number), number >> 8, number & 0xff).parse().expect("a guard"),
        is_trunk: false,
        is_in_vlan: false,
        attachment: id(number),
    };
    let numbers = 1..=count;
    let pods = numbers.clone().map(|number| (PortNumber::new(number + 1_000).expect("a number"), pod(number)));
    let ports = pods.chain([(scene.numbers["u"], FrameSource::Network)]).collect();
    let policies: Vec<Policy> = (0..100)
        .flat_map(|number| server(number + 1, number + 9).into_iter().map(move |it| (number, it)))
        .map(|(number, policy)| Policy { namespace: namespace(number), ..policy })
        .collect();
    let owner = |number: u16| PortOwner { namespace: namespace(number), uid: format!("uid-{number}") };
    let owners = numbers.map(|number| (id(number), owner(number))).collect();
    let (policies, pods) = (policies.into(), Default::default());
    BridgeFlows::new(ports, Some(NetworkPolicies { zone: 64_999, policies, pods, owners }))
}

#[test]
fn one_port_more_of_a_thousand_is_written_alone() {
    run(|scene| {
        let time = |what: &str, work: &mut dyn FnMut() -> usize| {
            let began = Instant::now();
            let changes = work();
            println!("{what}: {changes} in {:?}", began.elapsed());
            changes
        };
        let before = many(scene, 999);
        let management = scene.management();
        let restore = |flows: &BridgeFlows| guarded_flows::restore(&management, LONG, flows).expect("flows").wrong;
        assert!(time("all of 999 ports", &mut || restore(&before)) > 15_000);
        let after = many(scene, 1_000);
        time("compilation", &mut || usize::from(many(scene, 1_000) == after));
        let update = |one: &BridgeFlows, other: &BridgeFlows| {
            guarded_flows::update(&management, LONG, one, other).expect("flows")
        };
        assert!(time("one port more", &mut || update(&before, &after)) < 50);
        assert_eq!(time("comparison", &mut || restore(&after)), 0);
        assert!(time("one port less", &mut || update(&after, &before)) < 50);
        assert_eq!(restore(&before), 0);
    });
}
