//! Restarts and replacements while a pod sends forged frames without end.

#![expect(clippy::print_stdout, reason = "how many frames were sent is a figure for a reader")]

use super::frames::{self, Frame};
use super::scene::{Scene, device, port_of, run, run_by};
use crate::flood::Flood;
use crate::open_vswitch::TIMEOUT;
use crate::open_vswitch::packet_threads::FramesBy;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::generation;
use usnet_dataplane::ovs::guard::{self, AntiSpoofing};

const REPLACEMENTS: u32 = 300;
/// How many frames are sent before the action.
const WARM_UP: u64 = 1000;

/// Attacks from pod a before and during an action; returns the number of frames that were sent
/// during it. None of them arrives, and own frames do afterwards.
fn attack(scene: &mut Scene, during: impl FnOnce(&mut Scene)) -> u64 {
    let forged = frames::forged();
    let flood = Flood::default();
    let during = std::thread::scope(|scope| {
        let next = |number: u32| forged[usize::try_from(number).expect("64 bits") % forged.len()].bytes.clone();
        let running = flood.start(scope, (device("a"), None), next);
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
    assert!(during > 0);
    let received = scene.settle();
    let forged: BTreeSet<Vec<u8>> = forged.iter().map(|frame| frames::untagged(&frame.bytes)).collect();
    for received in received {
        let arrived: Vec<&Vec<u8>> = received.intersection(&forged).collect();
        assert!(arrived.is_empty(), "{arrived:x?}");
    }
    during
}

#[test]
fn a_restart_of_the_switch_closes_ports_until_their_flows_are_back() {
    run(restart_under_attack);
}

fn restart_under_attack(scene: &mut Scene) {
    let port = scene.guarded(AntiSpoofing::Address);
    scene.guard(&port);
    let mut kept = scene.connect();
    let sent = attack(scene, |scene| {
        scene.daemons.kill_vswitchd().expect("a signal");
        kept.keep(TIMEOUT).expect_err("the end of the switch ends the connection");
        scene.daemons.start_vswitchd().expect("a switch");
        assert_eq!(scene.installed(), []);
        // The attacker has time to find the ports open.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(scene.number(&port_of("a")), port.number);
        scene.guard(&port);
        std::thread::sleep(Duration::from_millis(200));
    });
    println!("{sent} forged frames while the switch restarted");
    let own: Vec<Frame> = frames::all().into_iter().filter(|frame| frame.is_own).collect();
    let [at_b, at_c] = scene.arrived(&own);
    assert_eq!([at_b.len(), at_c.len()], [own.len(); 2]);
}

#[test]
fn no_forged_frame_arrives_while_flows_are_replaced() {
    run(replace_flows_under_attack);
}

#[test]
fn no_forged_frame_arrives_while_flows_are_replaced_with_several_packet_threads() {
    run_by(FramesBy::TwoThreads, replace_flows_under_attack);
}

#[test]
fn by_af_xdp_no_forged_frame_arrives_while_flows_are_replaced_or_the_switch_restarts() {
    run_by(FramesBy::AfXdp, |scene| {
        replace_flows_under_attack(scene);
        restart_under_attack(scene);
    });
}

#[expect(clippy::print_stdout, reason = "the times are figures of a report")]
fn replace_flows_under_attack(scene: &mut Scene) {
    let port = scene.guarded(AntiSpoofing::Address);
    scene.guard(&port);
    let mut longest = Duration::ZERO;
    let began = Instant::now();
    let sent = attack(scene, |scene| {
        for _ in 0..REPLACEMENTS {
            let since = Instant::now();
            let mut changes = guard::replacement(port.number, guard::flows(&port));
            changes.extend(generation::renewal());
            scene.connect().commit(&changes).expect("flows");
            longest = longest.max(since.elapsed());
        }
    });
    let each = began.elapsed() / REPLACEMENTS;
    println!("{REPLACEMENTS} replacements of 32 flows, {each:?} each, {longest:?} the longest; {sent} forged frames");
}

#[test]
fn the_flows_of_a_port_are_written_in_milliseconds() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Address);
        let mut times: Vec<Duration> = (0..50)
            .map(|_| {
                let since = Instant::now();
                let changes = guard::replacement(port.number, guard::flows(&port));
                scene.connect().commit(&changes).expect("flows");
                since.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("a connection and 32 flows: {:?} median, {:?} at most", times[25], times[49]);
        assert!(times[25] < Duration::from_millis(100), "{times:?}");
    });
}
