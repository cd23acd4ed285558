//! Frames between two ports of a real Open vSwitch, counted one by one.

use crate::support::{CONNECTED_WITHIN, Switch, broadcast, exchange, receive_all};
use std::time::{Duration, Instant};
use usnet_endpoint::vhost_user::Listener;
use usnet_endpoint::{Error, Port};
use usnet_test_openvswitch::OpenVswitch;

struct Ovs(OpenVswitch);

impl Ovs {
    fn start() -> Self {
        let switch = OpenVswitch::builder().dpdk(true).dpdk_memory(512).start().unwrap();
        switch.vsctl(&["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"]).unwrap();
        Self(switch)
    }
}

impl Switch for Ovs {
    fn port(&self, name: &str) -> Box<dyn Port> {
        let socket = self.0.folder().join(format!("{name}.sock"));
        let listener = Listener::bind(&socket).unwrap();
        let path = format!("options:vhost-server-path={}", socket.display());
        let add =
            ["add-port", "br0", name, "--", "set", "interface", name, "type=dpdkvhostuserclient", "mtu_request=9000"];
        self.0.vsctl(&[&add[..], &[&path]].concat()).unwrap();
        Box::new(listener.accept(CONNECTED_WITHIN).unwrap())
    }
}

#[test]
fn frames_of_all_sizes_pass_and_none_is_lost() {
    exchange(&Ovs::start());
}

#[test]
fn the_end_of_the_switch_is_seen_and_its_return_connects_again() {
    let mut ovs = Ovs::start();
    let socket = ovs.0.folder().join("a.sock");
    let listener = Listener::bind(&socket).unwrap();
    let path = format!("options:vhost-server-path={}", socket.display());
    ovs.0.vsctl(&["add-port", "br0", "a", "--", "set", "interface", "a", "type=dpdkvhostuserclient", &path]).unwrap();
    let mut port = listener.accept(CONNECTED_WITHIN).unwrap();
    ovs.0.kill_vswitchd().unwrap();
    assert!(port.wait(CONNECTED_WITHIN).unwrap());
    assert!(matches!(port.receive(&mut Vec::new()), Err(Error::Disconnected)));
    ovs.0.start_vswitchd().unwrap();
    let mut port = listener.accept(CONNECTED_WITHIN).unwrap();
    let mut other = ovs.port("b");
    let frame = broadcast(64, 1);
    // The ring starts with the first kick, which the switch may not have seen yet.
    let arrived = (0..100).any(|_| {
        other.send(&frame).unwrap();
        !receive_all(&mut port, 1, Duration::from_millis(100)).is_empty()
    });
    assert!(arrived);
}

#[test]
fn a_path_that_is_in_use_is_left_alone_and_an_abandoned_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net1.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    // A test in another thread may have forked, and holds the socket until it has executed a
    // program.
    let deadline = Instant::now() + CONNECTED_WITHIN;
    let listener = loop {
        match Listener::bind(&path) {
            Err(_) if Instant::now() < deadline => std::thread::yield_now(),
            bound => break bound.unwrap(),
        }
    };
    assert!(matches!(Listener::bind(&path), Err(Error::Socket { .. })));
    drop(listener.accept(Duration::from_millis(1)));
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn a_client_that_is_no_engine_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net1.sock");
    let listener = Listener::bind(&path).unwrap();
    assert!(matches!(listener.accept(Duration::from_millis(1)), Err(Error::NotConnected { .. })));
    drop(std::os::unix::net::UnixStream::connect(&path).unwrap());
    assert!(matches!(listener.accept(CONNECTED_WITHIN), Err(Error::Negotiation { .. })));
    let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
    std::io::Write::write_all(&mut client, &[0xff; 4096]).unwrap();
    assert!(matches!(listener.accept(CONNECTED_WITHIN), Err(Error::Negotiation { .. })));
}
