//! Frames: isolated by VLANs, and dropped by limits. VPP itself generates them, as if pods had sent
//! them.

use crate::switch::Switch;
use crate::values::{Values, attachment, converge, observe, port_name};
use crate::vpp::cases::limits::limited;
use crate::vpp::other_client::OtherClient;
use crate::vpp::switch::VppSwitch;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::Vlan;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Peer;
use usnet_dataplane::owner::Owner;
use usnet_dataplane::port::PortName;
use usnet_dataplane::tagging::Tagging;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::messages::{IfStatusFlags, MemifCreateV2, MemifRole, SwInterfaceSetFlags};

const TIMEOUT: Duration = Duration::from_secs(20);
/// More than any limit here allows.
pub(super) const FRAMES: u64 = 200;
const FRAME_SIZE: u64 = 1000;
/// A broadcast.
const HEADER: &str = "ffffffffffff0200000000010800";

/// The applications in the pods at the peers of these ports, until it is dropped. Without a peer
/// VPP drops frames to its pod.
pub(super) fn connect(switch: &VppSwitch, containers: &[&str]) -> Vpp {
    let vpp = Vpp::start(Kind::Real).expect("there was one");
    let mut programs = OtherClient::new(vpp.socket().to_owned());
    for (socket_id, container) in (1..).zip(containers) {
        let socket = switch.backend(container).socket_file().expect("a file").display().to_string();
        programs.add_socket(socket_id, &socket);
        let client = MemifCreateV2 { role: MemifRole::Slave, socket_id, ..MemifCreateV2::default() };
        let sw_if_index = programs.request(client).sw_if_index;
        programs.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    }
    let is_connected = |container: &&str| {
        let observed = observe(&mut switch.engine());
        let mut ports = observed.bridges.values().flat_map(|bridge| bridge.ports.get(&port_name(container)));
        ports.any(|port| port.peer == Peer::Connected)
    };
    let end = Instant::now() + TIMEOUT;
    while !containers.iter().all(is_connected) {
        assert!(Instant::now() < end, "no peers");
        sleep(Duration::from_millis(20));
    }
    vpp
}

fn cli(switch: &VppSwitch, command: &str) -> String {
    switch.vpp().cli(command).expect("a command")
}

fn interface(switch: &VppSwitch, port: &PortName) -> String {
    switch.other_client().interface(port).interface_name.into_string()
}

/// How many frames VPP has sent to a pod since [`send`].
fn received(switch: &VppSwitch, container: &str) -> u64 {
    received_by(switch.vpp(), &interface(switch, &port_name(container)), "tx packets")
}

/// A counter of an interface.
pub(super) fn received_by(vpp: &Vpp, interface: &str, counter: &str) -> u64 {
    let observed = vpp.cli(&format!("show interface {interface}")).expect("a command");
    let line = observed.lines().find_map(|line| line.split(counter).nth(1));
    line.map_or(0, |count| count.trim().parse().expect("a number"))
}

/// Frames from a pod, all at once. All counters start at 0.
fn send(switch: &VppSwitch, container: &str) {
    cli(switch, "clear interfaces");
    send_from(switch.vpp(), &interface(switch, &port_name(container)), HEADER);
}

/// As if a pod had sent so many frames.
pub(super) fn generate(switch: &VppSwitch, container: &str, frames: u64) {
    generate_from(switch.vpp(), &interface(switch, &port_name(container)), HEADER, frames);
}

/// Frames with this header, as if they had come in by this interface.
pub(super) fn send_from(vpp: &Vpp, interface: &str, header: &str) {
    generate_from(vpp, interface, header, FRAMES);
}

fn generate_from(vpp: &Vpp, interface: &str, header: &str, frames: u64) {
    let run = |command: &str| vpp.cli(command).expect("a command");
    let payload = "00".repeat(46);
    run(&format!(
        "packet-generator new {{ name s limit {frames} size {FRAME_SIZE}-{FRAME_SIZE} interface {interface} \
         node ethernet-input data {{ hex 0x{header}{payload} }} }}"
    ));
    run("packet-generator enable-stream s");
    let end = Instant::now() + TIMEOUT;
    while run("show packet-generator").contains("Yes") {
        assert!(Instant::now() < end, "the frames are not sent");
        sleep(Duration::from_millis(5));
    }
    run("packet-generator delete s");
}

fn in_vlan(switch: &VppSwitch, desired: &mut Desired, container: &str, tag: i64) {
    let port = desired.ports.get_mut(&Owner::Attachment(attachment(container))).expect("an attachment");
    port.settings.tagging = Some(Tagging::Vlan(Vlan::Access { tag: tag.try_into().expect("a tag") }));
    converge(&mut switch.engine(), desired);
}

pub(crate) fn vlans_of_one_bridge_domain_are_isolated(switch: &mut VppSwitch) {
    let containers = ["c1", "c2", "c3", "c4"];
    let mut desired = switch.desired(&[switch.network("blue")], &containers);
    for (container, tag) in [("c1", 7), ("c2", 7), ("c3", 8)] {
        in_vlan(switch, &mut desired, container, tag);
    }
    let _programs = connect(switch, &containers);
    send(switch, "c1");
    let counts = |switch: &VppSwitch| ["c2", "c3", "c4"].map(|container| received(switch, container));
    assert_eq!(counts(switch), [FRAMES, 0, FRAMES], "a port without a VLAN is a trunk of all");
    // Between others its frames have no tag, and belong to no VLAN.
    send(switch, "c4");
    assert_eq!(counts(switch), [0, 0, 0]);

    in_vlan(switch, &mut desired, "c3", 7);
    send(switch, "c1");
    assert_eq!(counts(switch), [FRAMES, FRAMES, FRAMES], "it changed in place");
}

pub(crate) fn limits_drop_excess_frames_in_both_directions(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let mut engine = switch.engine();
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    let _programs = connect(switch, &["c1", "c2"]);
    // Of a megabyte and more: a limit of 8 kbit/s allows a burst of 20 kB, and then a kilobyte each
    // second.
    let some = 10..FRAMES / 2;
    for (ingress, egress) in [(None, None), (None, Some(8)), (Some(8), None), (None, None), (Some(8), Some(8))] {
        converge(&mut engine, &switch.desired(&[limited(&blue, ingress, egress)], &["c1", "c2"]));
        send(switch, "c1");
        let count = received(switch, "c2");
        let is_limited = ingress.or(egress).is_some();
        assert!(if is_limited { some.contains(&count) } else { count == FRAMES }, "{ingress:?} {egress:?}: {count}");
    }
    // A wide limit in place of a narrow one.
    converge(&mut engine, &switch.desired(&[limited(&blue, Some(1_000_000), Some(1_000_000))], &["c1", "c2"]));
    send(switch, "c1");
    assert_eq!(received(switch, "c2"), FRAMES);
}
