//! A pod with a program, whose port is a memif or of vhost-user: it sends the frames of a tap of
//! the kernel as they are, and puts those that it gets there.

use super::guards::network;
use crate::switch::Switch;
use crate::testpmd::Testpmd;
use crate::values::{attachment, bridge, converge, observe, port_name};
use crate::vpp::switch::{PortKind, TIMEOUT, VppSwitch};
use smoltcp::phy::{Medium, RawSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Peer;
use usnet_dataplane::owner::Owner;

/// The desired ports, where one container has a port of another kind, and its program.
pub(super) fn converge_with_program(
    switch: &VppSwitch,
    mut desired: Desired,
    (container, port_kind): (&str, PortKind),
    tap: &str,
) -> Testpmd {
    let backend = switch.backend_of(port_kind, container);
    desired.ports.get_mut(&Owner::Attachment(attachment(container))).expect("a port").backend = backend.clone();
    converge(&mut switch.engine(), &desired);
    let folder = switch.control_socket().parent().expect("its folder").to_owned();
    let program = Testpmd::forward(&folder, container, backend.of_pod().expect("a pod's port"), tap);
    let is_connected = || {
        let observed = observe(&mut switch.engine());
        observed.bridges[bridge(&network(switch))].ports[&port_name(container)].peer == Peer::Connected
    };
    let end = Instant::now() + TIMEOUT;
    while !is_connected() || RawSocket::new(tap, Medium::Ethernet).is_err() {
        assert!(Instant::now() < end, "the program is not connected: {}", program.output());
        sleep(Duration::from_millis(20));
    }
    program
}
