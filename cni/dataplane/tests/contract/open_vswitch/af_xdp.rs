//! The cases with kernel devices whose frames the packet threads of the switch have by AF_XDP.

use super::packet_threads::FramesBy;
use super::{Daemons, Kind, OneSwitch, vsctl};
use crate::cases::counters::{FRAMES, received_by_pod, send};
use crate::switch::{Switch, contract};
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::{KilobitsPerSecond, NodeNetwork};
use usnet_dataplane::observed::{ElementState, Peer};

const PATIENCE: Duration = Duration::from_secs(20);

fn start() -> Option<OneSwitch> {
    Some(OneSwitch { daemons: FramesBy::AfXdp.daemons(), kind: Kind::VethByAfXdp })
}

contract!(start();
    counters::counters_follow_frames,
    settings::every_vlan_mode_is_set_changed_and_put_back,
    creation::desired_objects_are_created_and_deleted,
    creation::a_second_apply_changes_nothing,
    creation::settings_change_in_place,
    creation::several_attach_at_once,
    foreign::a_foreign_port_survives_in_an_owned_bridge,
    drift::objects_deleted_by_others_are_recreated,
    drift::a_port_moved_by_others_is_moved_back,
    refusals::a_failing_operation_does_not_block_the_others,
    outages::a_stalled_switch_is_an_error_and_converges_later,
    outages::a_switch_that_does_not_answer_never_looks_empty,
);

/// What receives copies is a vhost-user port, which needs DPDK.
fn start_with_dpdk() -> Option<OneSwitch> {
    let daemons = Daemons::builder().dpdk(true).dpdk_memory(256).start().expect("Open vSwitch");
    Some(OneSwitch { daemons, kind: Kind::VethByAfXdp })
}

contract!(start_with_dpdk();
    captures::a_captured_port_and_its_network_are_removed,
    captured_frames::every_frame_of_both_directions_is_copied_in_order,
    captured_frames::only_frames_of_the_direction_are_copied,
);

/// Frames of one pod arrive at the other.
fn assert_passes(switch: &OneSwitch) {
    let before = received_by_pod(switch, "c2");
    let end = Instant::now() + PATIENCE;
    loop {
        send(switch, "c1");
        sleep(Duration::from_millis(20));
        if received_by_pod(switch, "c2") >= before + FRAMES {
            return;
        }
        assert!(Instant::now() < end, "frames are lost");
    }
}

fn has_program(switch: &OneSwitch, container: &str) -> bool {
    let name = port_name(container);
    let link = switch.command("ip").args(["-d", "link", "show", "dev", name.as_str()]).output().expect("ip");
    String::from_utf8_lossy(&link.stdout).contains("prog/xdp")
}

fn two_pods(switch: &OneSwitch) -> NodeNetwork {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    blue
}

/// The kernel keeps the program of a killed switch, and its sockets are gone.
#[test]
fn frames_pass_after_the_switch_was_killed_and_the_program_goes_with_the_port() {
    let mut switch = start().expect("Open vSwitch");
    let blue = two_pods(&switch);
    assert_passes(&switch);
    switch.kill_vswitchd().expect("killed");
    assert!(has_program(&switch, "c1"), "a killed switch leaves it");
    switch.start_vswitchd().expect("started");
    assert_passes(&switch);
    let port = observe(&mut switch.engine()).bridges[bridge(&blue)].ports[&port_name("c1")].clone();
    assert_eq!((port.state, port.peer), (ElementState::Running, Peer::Connected));
    vsctl(&switch, &format!("del-port {}", port_name("c1")));
    assert!(!has_program(&switch, "c1"), "the pod's next port may have another datapath");
}

/// A port of the datapath Kernel takes the place of one by AF_XDP that a killed switch had.
#[test]
fn a_program_that_was_left_does_not_keep_frames_from_another_datapath() {
    let mut switch = start().expect("Open vSwitch");
    two_pods(&switch);
    assert_passes(&switch);
    switch.kill_vswitchd().expect("killed");
    for container in ["c1", "c2"] {
        vsctl(&switch, &format!("--no-wait set Interface {} type=system", port_name(container)));
    }
    switch.start_vswitchd().expect("started");
    assert!(has_program(&switch, "c1"));
    assert_passes(&switch);
}

/// Open vSwitch accepts such a limit, and the kernel sends past it.
#[test]
fn a_limit_of_what_a_pod_receives_is_refused_and_not_left_out_silently() {
    let switch = start().expect("Open vSwitch");
    let mut blue = two_pods(&switch);
    blue.port.rate_limit.ingress_kbps = KilobitsPerSecond::try_from(2000).ok();
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    let mut engine = switch.engine();
    let operations = usnet_dataplane::plan::diff(&desired, &observe(&mut engine));
    assert_eq!(operations.len(), 2, "{operations:?}");
    for refused in apply(&mut engine, &operations) {
        let refused = refused.expect_err("a limit that does not work").to_string();
        assert!(refused.contains("cannot be limited"), "{refused}");
    }
    assert_eq!(vsctl(&switch, "--bare --columns=type list QoS").trim(), "");
}
