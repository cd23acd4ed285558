//! A network's own device: a port beside those of the pods.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::owner::{NetworkDevice, NetworkDeviceRole};
use usnet_dataplane::plan::diff;
use usnet_dataplane::port::{DesiredPort, DeviceName, PortName};

/// The end of the device's pair that stands for the other nodes.
const FAR: &str = "far";

fn run(switch: &impl Switch, command: &str) -> String {
    let mut words = command.split(' ');
    let program = words.next().expect("a program");
    let output = switch.in_namespace(program).args(words).output().expect(program);
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates the device of a network, or creates it again; returns its index. To the switch a veth
/// pair is the same as a VXLAN device.
fn create_device(switch: &impl Switch, network: &NodeNetwork) -> u32 {
    let device = DeviceName::of_network(&network.name);
    run(switch, &format!("ip link add {device} type veth peer name {FAR}"));
    for end in [device.as_str(), FAR] {
        run(switch, &format!("ip link set {end} addrgenmode none"));
        run(switch, &format!("ip link set {end} up"));
    }
    run(switch, &format!("ip addr add 192.0.2.1/24 dev {FAR}"));
    let observed = run(switch, &format!("ip -o link show dev {device}"));
    observed.split(':').next().and_then(|index| index.parse().ok()).expect("an index")
}

/// Frames that the pod has received.
fn received(switch: &impl Switch, container: &str) -> u64 {
    let pod = port_name(container).as_str().replace("vhu", "pod");
    let observed = run(switch, &format!("ip -s link show dev {pod}"));
    let counters = observed.lines().skip_while(|line| !line.contains("RX:")).nth(1).expect("counters");
    counters.split_whitespace().nth(1).and_then(|frames| frames.parse().ok()).expect("a number")
}

/// Whether a broadcast of another node reaches the pod.
fn is_connected(switch: &impl Switch, container: &str) -> bool {
    let before = received(switch, container);
    // No answer is expected; what counts are the ARP requests. The kernel sends none for an address
    // that it has asked for shortly before.
    static ADDRESSES: AtomicU8 = AtomicU8::new(2);
    let address = format!("192.0.2.{}", ADDRESSES.fetch_add(1, Ordering::Relaxed));
    let _unanswered = switch.in_namespace("busybox").args(["ping", "-c", "2", "-W", "1", "-I", FAR, &address]).output();
    received(switch, container) > before
}

fn overlay_device(network: &str, index: u32) -> NetworkDevice {
    NetworkDevice { network: network.parse().expect("a name"), role: NetworkDeviceRole::Overlay, index }
}

fn desired(switch: &impl Switch, networks: &[NodeNetwork], devices: &BTreeMap<&str, u32>) -> Desired {
    let devices: Vec<_> = devices.iter().map(|(network, index)| overlay_device(network, *index)).collect();
    switch.desired(networks, &["c1"]).with_devices(&devices)
}

pub(crate) fn a_network_is_joined_by_its_device_and_left(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let index = create_device(switch, &blue);
    let joined = desired(switch, std::slice::from_ref(&blue), &[("blue", index)].into());
    converge(&mut engine, &joined);
    let name = PortName::of_network(&blue.name);
    assert!(switch.forwards(bridge(&blue), &name));
    assert!(!switch.moves_frames() || is_connected(switch, "c1"));
    let dump = switch.dump();
    let operations = [usnet_dataplane::plan::Op::CreatePort {
        port: DesiredPort::of_device(&blue, &overlay_device("blue", index)).into(),
    }];
    assert_eq!(apply(&mut engine, &operations), [Ok(())]);
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");

    let left = desired(switch, std::slice::from_ref(&blue), &BTreeMap::new());
    let operations = converge(&mut engine, &left);
    assert_eq!(
        operations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("remove port {name} of network blue from bridge {}", bridge(&blue))]
    );
    assert!(!switch.moves_frames() || !is_connected(switch, "c1"));
    assert!(switch.forwards(bridge(&blue), &port_name("c1")), "the pod keeps its port");
    converge(&mut engine, &joined);
    let nothing = Desired::default();
    assert_eq!(converge(&mut engine, &nothing).len(), 3, "both ports and the bridge");
    assert!(!run(switch, &format!("ip link show dev {name}")).is_empty(), "the device is not the switch's");
}

pub(crate) fn a_device_that_was_created_again_is_joined_again(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let first = create_device(switch, &blue);
    converge(&mut engine, &desired(switch, std::slice::from_ref(&blue), &[("blue", first)].into()));
    let identity = switch.port_identity(&port_name("c1"));
    run(switch, &format!("ip link del {FAR}"));
    let second = create_device(switch, &blue);
    assert_ne!(first, second);
    assert!(!switch.moves_frames() || !is_connected(switch, "c1"), "the switch does not notice");
    let operations = converge(&mut engine, &desired(switch, std::slice::from_ref(&blue), &[("blue", second)].into()));
    assert_eq!(operations.len(), 2, "{operations:?}");
    assert!(!switch.moves_frames() || is_connected(switch, "c1"));
    assert_eq!(switch.port_identity(&port_name("c1")), identity, "a port beside it was touched");
}

pub(crate) fn a_port_of_its_name_that_others_created_is_not_changed(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let index = create_device(switch, &blue);
    converge(&mut engine, &desired(switch, std::slice::from_ref(&blue), &BTreeMap::new()));
    switch.add_foreign_device(bridge(&blue), DeviceName::of_network(&blue.name).as_str());
    let joined = desired(switch, std::slice::from_ref(&blue), &[("blue", index)].into());
    let dump = switch.dump();
    let operations = [usnet_dataplane::plan::Op::CreatePort {
        port: DesiredPort::of_device(&blue, &overlay_device("blue", index)).into(),
    }];
    let refused = apply(&mut engine, &operations).remove(0);
    assert!(matches!(refused, Err(OpError::Foreign { .. })), "{refused:?}");
    assert_eq!(switch.dump(), dump);
    let removals = diff(&joined, &observe(&mut engine));
    assert!(!removals.iter().any(|operation| operation.to_string().starts_with("remove")), "{removals:?}");
}

/// A network has both kinds of devices at once, and loses one without the other.
pub(crate) fn a_node_is_in_a_network_beside_other_nodes(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let index = create_device(switch, &blue);
    let name = PortName::of_device(&blue.name, NetworkDeviceRole::NodeAccess);
    run(switch, &format!("ip link add {name} type veth peer name node"));
    run(switch, &format!("ip link set {name} up"));
    let printed = run(switch, &format!("ip -o link show dev {name}"));
    let own = printed.split(':').next().and_then(|index| index.parse().ok()).expect("an index");
    let device = NetworkDevice { role: NetworkDeviceRole::NodeAccess, ..overlay_device("blue", own) };
    let networks = std::slice::from_ref(&blue);
    let both = [overlay_device("blue", index), device.clone()];
    converge(&mut engine, &switch.desired(networks, &["c1"]).with_devices(&both));
    let overlay = PortName::of_network(&blue.name);
    assert!([&name, &overlay].iter().all(|port| switch.forwards(bridge(&blue), port)));

    let operations = converge(&mut engine, &switch.desired(networks, &["c1"]).with_devices([&device]));
    let texts: Vec<_> = operations.iter().map(ToString::to_string).collect();
    assert_eq!(texts, [format!("remove port {overlay} of network blue from bridge {}", bridge(&blue))]);
    assert!(switch.forwards(bridge(&blue), &name));
    converge(&mut engine, &switch.desired(networks, &["c1"]));
    assert!(!switch.forwards(bridge(&blue), &name));
}
