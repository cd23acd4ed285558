//! Policies that are replaced, and a table of connections that is filled, while a pod sends without
//! end.

use super::changes::server;
use super::keeping::{policies, ports};
use super::packets::UDP;
use super::scene::{Scene, ZONE, ends, mac, run, run_by};
use crate::flood::Flood;
use crate::open_vswitch::TIMEOUT;
use crate::open_vswitch::packet_threads::FramesBy;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::connection_limits::{self, CONNECTIONS_MAX, LimitedZone};
use usnet_dataplane::ovs::{BridgeFlows, NetworkPolicies, guarded_flows};
use usnet_openflow::PortNumber;

const REPLACEMENTS: u16 = 300;
/// How many frames are sent before the action.
const WARM_UP: u64 = 500;
/// A port of b that no policy allows.
const REFUSED: u16 = 5353;

/// Has the pod a send packets of both families to b, which no policy allows, before and during an
/// action; returns how many during it. None of them arrives.
fn attack(scene: &mut Scene, during: impl FnOnce(&mut Scene)) -> u64 {
    let flood = Flood::default();
    let frame = |number: u32| {
        let [.., high, low] = number.to_be_bytes();
        let source = 1024 | u16::from_be_bytes([high, low]);
        ends("a", "b", number.is_multiple_of(2)).first(UDP, [source, REFUSED])
    };
    let sent = std::thread::scope(|scope| {
        let running = flood.start(scope, ("end-a".to_owned(), None), frame);
        let end = Instant::now() + TIMEOUT;
        while flood.sent() < WARM_UP && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let before = flood.sent();
        assert!(before >= WARM_UP, "{before}");
        during(scene);
        drop(running);
        flood.sent() - before
    });
    let arrived = scene.settle("u").remove("b").unwrap_or_default();
    let of_pod = arrived.iter().filter(|frame| frame[6..12] == mac("a"));
    assert_eq!(of_pod.count(), 0, "packets of the pod a");
    sent
}

fn flows(scene: &Scene, first: u16, last: u16) -> BridgeFlows {
    let known = NetworkPolicies { policies: server(first, last).into(), ..policies() };
    BridgeFlows::new(ports(scene), Some(known))
}

#[expect(clippy::print_stdout, reason = "the times are figures of a report")]
fn replace_policies_under_attack(scene: &mut Scene) {
    scene.closed.insert("c".to_owned());
    let mut before = flows(scene, 80, 80);
    guarded_flows::restore(&scene.management(), TIMEOUT, &before).expect("flows");
    scene.settle_flows();
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    let sent = attack(scene, |scene| {
        for number in 0..REPLACEMENTS {
            let after = flows(scene, 80, 80 + number % 64 + 1);
            let since = Instant::now();
            guarded_flows::update(&scene.management(), TIMEOUT, &before, &after).expect("flows");
            longest = longest.max(since.elapsed());
            before = after;
        }
    });
    let each = began.elapsed() / u32::from(REPLACEMENTS);
    println!("{REPLACEMENTS} replacements, {each:?} each, {longest:?} the longest; {sent} packets, none arrived");
    assert!(scene.reaches("u", "b", ends("u", "b", true).first(UDP, [9, 80])), "what is allowed");
}

#[test]
fn nothing_that_is_refused_arrives_while_policies_are_replaced() {
    run(replace_policies_under_attack);
}

#[test]
fn nothing_that_is_refused_arrives_while_policies_are_replaced_with_several_packet_threads() {
    run_by(FramesBy::TwoThreads, replace_policies_under_attack);
}

#[test]
fn nothing_that_is_refused_arrives_while_policies_are_replaced_by_af_xdp() {
    run_by(FramesBy::AfXdp, replace_policies_under_attack);
}

/// Limits the connections of a zone unless they are limited, and returns how many there are.
fn limited(scene: &Scene, zone: u16) -> LimitedZone {
    let found = connection_limits::keep(scene.daemons.folder(), TIMEOUT, &[zone]).expect("limits");
    let [limited] = found.try_into().expect("one zone");
    limited
}

/// The bridge is that of one network; the other one has a bridge of its own, without ports.
#[test]
fn a_pod_that_opens_connections_without_end_fills_the_table_of_its_network_alone() {
    const LIMIT: u32 = 50;
    run(|scene| {
        let other = ZONE - 1;
        assert_eq!(limited(scene, ZONE), LimitedZone { zone: ZONE, limit: CONNECTIONS_MAX, connections: 0 });
        assert_eq!(limited(scene, other).limit, CONNECTIONS_MAX);
        // A user's own limit is left.
        let own = format!("zone={ZONE},limit={LIMIT}");
        scene.daemons.appctl(&["dpctl/ct-set-limits", "netdev@ovs-netdev", &own]).expect("ovs-appctl");
        assert_eq!(limited(scene, ZONE).limit, LIMIT);
        scene.enforce(&server(80, 80), &[]);
        for number in 0..LIMIT as u16 + 20 {
            assert!(scene.reaches("u", "b", ends("u", "b", true).first(UDP, [2_000 + number, 80])));
        }
        assert_eq!(limited(scene, ZONE).connections, LIMIT);
        let answers = |scene: &mut Scene, port| scene.reaches("b", "u", ends("u", "b", true).answer(UDP, [port, 80]));
        assert!(answers(scene, 2_000), "a connection that is remembered");
        assert!(!answers(scene, 2_000 + LIMIT as u16 + 10), "one that there was no room for");
        assert_eq!(limited(scene, other).connections, 0);
        // The same pods, as if they were of the other network.
        scene.connect().flush_connections(ZONE).expect("flushed");
        assert_eq!(limited(scene, ZONE).connections, 0);
        assert!(scene.reaches("u", "b", ends("u", "b", true).first(UDP, [3_000, 80])) && answers(scene, 3_000));
    });
}

/// A switch that was started again has no limits, and gets them again.
#[test]
fn a_limit_goes_with_the_switch_and_is_set_again() {
    run(|scene| {
        assert_eq!(limited(scene, ZONE).limit, CONNECTIONS_MAX);
        scene.daemons.kill_vswitchd().expect("a signal");
        scene.daemons.start_vswitchd().expect("a switch");
        let ports = scene.connect().ports().expect("ports");
        assert!(ports.iter().any(|port| port.number != PortNumber::LOCAL));
        assert_eq!(limited(scene, ZONE).limit, CONNECTIONS_MAX);
    });
}
