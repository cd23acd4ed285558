//! What the kinds of guards let through.

use super::frames::{self, Frame};
use super::scene::{BRIDGE, Scene, run, run_by};
use crate::open_vswitch::TIMEOUT;
use crate::open_vswitch::packet_threads::FramesBy;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::guard::{self, AntiSpoofing, GuardedPort};
use usnet_dataplane::port::GuardedPair;
use usnet_openflow::FlowMod;

/// The flows of a port with IPv4 and IPv6, as ovs-ofctl(8) writes them.
const FLOWS: &str = include_str!("../../../../testdata/guard/flows.txt");

fn names(frames: &[Frame], does_pass: impl Fn(&Frame) -> bool) -> BTreeSet<&'static str> {
    frames.iter().filter(|frame| does_pass(frame)).map(|frame| frame.name).collect()
}

fn expect(scene: &mut Scene, does_pass: impl Fn(&Frame) -> bool) {
    expect_of(scene, &frames::all(), does_pass);
}

fn expect_of(scene: &mut Scene, frames: &[Frame], does_pass: impl Fn(&Frame) -> bool) {
    let expected = names(frames, does_pass);
    for (pod, arrived) in ["b", "c"].into_iter().zip(scene.arrived(frames)) {
        let [lost, forged] = [&expected - &arrived, &arrived - &expected];
        assert!(lost.is_empty() && forged.is_empty(), "at {pod}: lost {lost:?}, arrived {forged:?}");
    }
}

#[test]
fn without_a_guard_all_frames_arrive_but_those_for_the_switch() {
    run(|scene| {
        let trusted = guard::trusted(scene.guarded(AntiSpoofing::Mac).number);
        scene
            .connect()
            .commit(&guard::replacement(trusted[0].matches.in_port.expect("a port"), trusted))
            .expect("flows");
        expect(scene, |frame| !frame.is_for_switch());
    });
}

#[test]
fn in_mode_mac_all_frames_with_the_own_address_arrive() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Mac);
        scene.guard(&port);
        expect(scene, |frame| frame.source() == port.mac.octets() && !frame.is_for_switch());
    });
}

#[test]
fn in_mode_address_no_forged_frame_arrives_and_all_are_counted() {
    run(|scene| no_forged_frame_arrives(scene, &frames::all()));
}

#[test]
fn in_mode_address_no_forged_frame_arrives_with_several_packet_threads() {
    // The kernel puts fragments together before it spreads frames over the queues of a socket.
    let all = frames::all().into_iter().filter(|frame| !frame.name.contains("fragment")).collect::<Vec<_>>();
    run_by(FramesBy::TwoThreads, |scene| no_forged_frame_arrives(scene, &all));
}

/// All modes on one switch.
#[test]
fn by_af_xdp_guards_let_through_what_they_do_otherwise() {
    run_by(FramesBy::AfXdp, |scene| {
        let port = scene.guarded(AntiSpoofing::Mac);
        scene.guard(&port);
        expect(scene, |frame| frame.source() == port.mac.octets() && !frame.is_for_switch());
        expect_of(scene, &frames::fragments(), |_| true);

        let address = scene.guarded(AntiSpoofing::Address);
        scene.guard(&GuardedPort { is_trunk: true, ..address.clone() });
        expect(scene, |frame| frame.is_own || frame.name == "VLAN 100, IPv4 own");

        scene.guard(&address);
        expect_of(scene, &frames::fragments(), |frame| frame.is_own);
        scene.guard(&address);
        no_forged_frame_arrives(scene, &frames::all());
    });
}

fn no_forged_frame_arrives(scene: &mut Scene, frames: &[Frame]) {
    let port = scene.guarded(AntiSpoofing::Address);
    scene.guard(&port);
    expect_of(scene, frames, |frame| frame.is_own);
    let forged = u64::try_from(frames.iter().filter(|frame| !frame.is_own).count()).expect("few");
    let end = Instant::now() + TIMEOUT;
    let refused = |scene: &Scene| guard::refused_frames(port.number, &scene.installed());
    while refused(scene) != forged && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(refused(scene), forged);
}

#[test]
fn the_flows_of_a_port_are_those_of_the_table() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Address);
        let flows = guard::flows(&GuardedPort { uses_dhcp: true, ..port.clone() });
        scene.connect().commit(&guard::replacement(port.number, flows)).expect("flows");
        let mut command = scene.daemons.command("ovs-ofctl");
        command.env("OVS_RUNDIR", scene.daemons.folder()).args(["--no-stats", "--names", "dump-flows", BRIDGE]);
        let output = String::from_utf8(command.output().expect("ovs-ofctl").stdout).expect("a text");
        let mut lines: Vec<String> =
            output.lines().filter_map(|line| Some(line.split_once("priority=")?.1.to_owned())).collect();
        // By priority, the highest first, and then by text.
        lines.sort_by_key(|line| {
            let priority = line.split([',', ' ']).next().and_then(|text| text.parse::<u16>().ok());
            (std::cmp::Reverse(priority), line.clone())
        });
        let table: Vec<&str> = FLOWS.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, table, "{}", lines.join("\n"));
    });
}

#[test]
fn nothing_hides_in_fragments_or_behind_a_wrong_length() {
    // Each on a switch of its own: a changed flow is effective some milliseconds after the answer.
    for (anti_spoofing, does_pass) in
        [(AntiSpoofing::Mac, (|_| true) as fn(&Frame) -> bool), (AntiSpoofing::Address, |frame| frame.is_own)]
    {
        run(|scene| {
            scene.guard(&scene.guarded(anti_spoofing));
            expect_of(scene, &frames::fragments(), does_pass);
        });
    }
}

#[test]
fn a_switch_that_does_not_match_fragments_drops_them() {
    run(|scene| {
        let port = scene.guarded(AntiSpoofing::Address);
        let mut changes = guard::replacement(port.number, Vec::new());
        changes.extend(scene.desired(&port).into_iter().map(FlowMod::Add));
        scene.connect().commit(&changes).expect("flows");
        let is_first = |frame: &Frame| frame.name.contains("first fragment");
        expect_of(scene, &frames::fragments(), |frame| frame.is_own && !is_first(frame));
        expect(scene, |frame| frame.is_own && !is_first(frame));
    });
}

#[test]
fn a_trunk_sends_own_addresses_behind_one_tag_and_none_behind_two() {
    run(|scene| {
        let port = GuardedPort { is_trunk: true, ..scene.guarded(AntiSpoofing::Address) };
        scene.guard(&port);
        expect(scene, |frame| frame.is_own || frame.name == "VLAN 100, IPv4 own");
    });
}

#[test]
fn a_client_of_dhcp_may_ask_before_it_has_an_address() {
    run(|scene| {
        let port = GuardedPort { uses_dhcp: true, ..scene.guarded(AntiSpoofing::Address) };
        scene.guard(&port);
        expect(scene, |frame| frame.is_own || frame.name == "DHCP client, static IPAM");
    });
}

#[test]
fn a_virtual_router_may_use_its_addresses() {
    run(|scene| {
        let pair =
            |ip: &str, mac: &str| GuardedPair { ip: ip.parse().expect("an address"), mac: mac.parse().expect("MAC") };
        let pairs = vec![pair("10.9.0.100", "00:00:5e:00:01:05"), pair("10.9.0.12", "02:00:00:00:00:0a")];
        scene.guard(&GuardedPort { pairs, ..scene.guarded(AntiSpoofing::Address) });
        // The second pair is the address of pod c under the MAC address of the port. The switch
        // looks behind SNAP.
        let of_c = [
            "IPv4 of c",
            "IPv4 forged, first fragment",
            "IPv4 forged, later fragment",
            "IPv4 forged, with options",
            "ARP request, spa of c",
            "ARP reply, spa of c",
            "gratuitous ARP for c",
            "SNAP, IPv4 of c",
            "VRRP, virtual MAC",
        ];
        expect(scene, |frame| frame.is_own || of_c.contains(&frame.name));
    });
}

#[test]
fn a_port_with_a_number_that_was_used_before_has_its_own_flows_alone() {
    run(|scene| {
        let before = scene.guarded(AntiSpoofing::Address);
        let mac = "02:00:00:00:00:0c".parse().expect("an address");
        scene.guard(&GuardedPort { mac, ..before.clone() });
        assert!(scene.installed().len() > 20);
        scene.guard(&before);
        expect(scene, |frame| frame.is_own);
    });
}
