//! The cases with kernel devices, and those that are specific to them. They need no DPDK.
//!
//! Not among them: the local port of an adopted bridge without `mtu_request` takes the smallest MTU
//! of the bridge's devices, and so does change.

use super::{Daemons, Kind, OneSwitch, vsctl};
use crate::cases::counters::{FRAMES, received_by_pod, send};
use crate::flood::{Flood, length, of_mac_addresses};
use crate::switch::{Switch, contract};
use crate::values::{Values, apply, attachment, bridge, converge, observe, port_name};
use std::time::{Duration, Instant};
use usnet_dataplane::observed::{ElementState, Peer};
use usnet_dataplane::port::{DeviceName, PortBackend};

fn start() -> Option<OneSwitch> {
    Some(OneSwitch { daemons: Daemons::start().expect("Open vSwitch"), kind: Kind::Veth })
}

contract!(start();
    counters::counters_follow_frames,
    settings::every_vlan_mode_is_set_changed_and_put_back,
    settings::limits_are_set_changed_put_back_and_removed,
    creation::desired_objects_are_created_and_deleted,
    creation::a_second_apply_changes_nothing,
    creation::settings_change_in_place,
    creation::several_attach_at_once,
    foreign::a_foreign_port_survives_in_an_owned_bridge,
    devices::a_network_is_joined_by_its_device_and_left,
    devices::a_device_that_was_created_again_is_joined_again,
    devices::a_port_of_its_name_that_others_created_is_not_changed,
    devices::a_node_is_in_a_network_beside_other_nodes,
    drift::objects_deleted_by_others_are_recreated,
    drift::a_port_moved_by_others_is_moved_back,
    refusals::a_failing_operation_does_not_block_the_others,
    outages::a_stalled_switch_is_an_error_and_converges_later,
    outages::a_switch_that_does_not_answer_never_looks_empty,
);

/// What receives copies is a vhost-user port, which needs DPDK.
fn start_with_dpdk() -> Option<OneSwitch> {
    let daemons = Daemons::builder().dpdk(true).dpdk_memory(256).start().expect("Open vSwitch");
    Some(OneSwitch { daemons, kind: Kind::Veth })
}

contract!(start_with_dpdk();
    captured_frames::every_frame_of_both_directions_is_copied_in_order,
);

#[test]
fn the_mtu_is_that_of_the_device_and_a_deleted_device_is_an_error_without_operations() {
    let mut switch = start().expect("Open vSwitch");
    let mut engine = switch.engine();
    let mut blue = switch.network("blue");
    blue.bridge.mtu = usnet_crds::Mtu::try_from(1400).expect("an MTU");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let name = port_name("c1");
    let observed = observe(&mut engine).bridges[bridge(&blue)].ports[&name].clone();
    assert_eq!((observed.state, observed.peer), (ElementState::Running, Peer::Connected));
    let output = switch.command("cat").arg(format!("/sys/class/net/{name}/mtu")).output().expect("cat");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1400");

    // As when the pod's network namespace is deleted. After its restart the switch does not know
    // the device any more, and reports it as missing.
    assert!(switch.command("ip").args(["link", "del", name.as_str()]).status().expect("ip").success());
    switch.kill_vswitchd().expect("kill");
    switch.start_vswitchd().expect("start");
    let seen = observe(&mut engine);
    let gone = &seen.bridges[bridge(&blue)].ports[&name];
    assert_eq!(gone.peer, Peer::Absent);
    assert!(matches!(&gone.state, ElementState::Failed(reason) if reason.contains("No such device")), "{gone:?}");
    assert_eq!(usnet_dataplane::plan::diff(&desired, &seen), []);
}

#[test]
fn a_port_without_its_device_fails_with_the_error_of_the_switch() {
    let switch = OneSwitch::from(Daemons::start().expect("Open vSwitch"));
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let mut operation = switch.create_port("c1", &blue);
    let usnet_dataplane::plan::Op::CreatePort { port } = &mut operation else { panic!("a port") };
    port.backend = PortBackend::Device { device: DeviceName::of(&attachment("c1")) };
    let refused = apply(&mut engine, &[operation]).remove(0).expect_err("a refusal").to_string();
    assert!(refused.contains("could not open network device"), "{refused}");
}

#[test]
fn what_the_pod_receives_is_limited_by_the_kernel() {
    let switch = start().expect("Open vSwitch");
    let mut blue = switch.network("blue");
    blue.port.rate_limit.ingress_kbps = usnet_crds::KilobitsPerSecond::try_from(2000).ok();
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let observed = switch.command("tc").args(["class", "show", "dev", port_name("c1").as_str()]).output().expect("tc");
    let observed = String::from_utf8_lossy(&observed.stdout).into_owned();
    assert!(observed.contains("ceil 2Mbit"), "{observed}");
    assert_eq!(vsctl(&switch, "--bare --columns=type list QoS").trim(), "linux-htb");
}

/// For each new address it forgets one of the port that has most of them, so that the others keep
/// theirs.
#[test]
fn a_flood_of_mac_addresses_fills_the_table_of_its_bridge_only() {
    let switch = start().expect("Open vSwitch");
    let (mut blue, red) = (switch.network("blue"), switch.network("red"));
    blue.bridge.mac_table_size = usnet_crds::MacTableSize::try_from(1000).expect("a size");
    let desired = switch.desired(&[red, blue.clone()], &["c2", "c3"]);
    let desired = switch.with_pods(desired, [("c1", &blue)]);
    converge(&mut switch.engine(), &desired);
    let (flood, namespace) = (Flood::default(), switch.network_namespace());
    let learned = |bridge: &str| switch.appctl(&["fdb/show", bridge]).expect("an FDB").lines().skip(1).count();
    std::thread::scope(|scope| {
        let device = port_name("c1").as_str().replace("vhu", "pod");
        let running = flood.start(scope, (device, Some(&namespace)), of_mac_addresses);
        let started = Instant::now();
        while started.elapsed() < length() || flood.sent() < 10_000 {
            let before = received_by_pod(&switch, "c3");
            send(&switch, "c2");
            let end = Instant::now() + Duration::from_secs(5);
            while received_by_pod(&switch, "c3") < before + FRAMES {
                assert!(Instant::now() < end, "frames of another network are lost");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(learned("br-blue") <= 1000, "{}", learned("br-blue"));
        }
        drop(running);
    });
    assert_eq!(learned("br-blue"), 1000);
    assert!((1..10).contains(&learned("br-red")), "{}", learned("br-red"));
}
