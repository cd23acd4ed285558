//! Frames between two ports of a real VPP, counted one by one.

use crate::support::{CONNECTED_WITHIN, Switch, exchange};
use std::time::Instant;
use usnet_endpoint::memif::{self, Socket, Target};
use usnet_endpoint::vhost_user::{self, Listener};
use usnet_endpoint::{Error, Port};
use usnet_test_vpp::{Kind, Vpp};

enum Role {
    Memif,
    VppConnects,
    VppListens,
}

struct Bridge {
    vpp: Vpp,
    role: Role,
}

impl Bridge {
    fn start(role: Role) -> Option<Self> {
        Some(Self { vpp: Vpp::start(Kind::Real.or_skip()?).unwrap(), role })
    }

    fn cli(&self, command: &str) -> String {
        self.vpp.cli(command).unwrap().trim().to_owned()
    }

    fn join(&self, interface: &str) {
        self.cli(&format!("set interface state {interface} up"));
        self.cli(&format!("set interface mtu packet 9000 {interface}"));
        self.cli(&format!("set interface l2 bridge {interface} 7"));
    }

    fn memif(&self, id: u32, secret: &str) -> Target {
        let socket = self.vpp.folder().join("m.sock");
        self.cli(&format!("create memif socket id 1 filename {}", socket.display()));
        let secret_option = if secret.is_empty() { String::new() } else { format!(" secret {secret}") };
        self.cli(&format!("create interface memif id {id} socket-id 1 master{secret_option}"));
        self.join(&format!("memif1/{id}"));
        Target { socket: Socket::File(socket), id, secret: secret.to_owned(), ip: false }
    }
}

impl Switch for Bridge {
    fn port(&self, name: &str) -> Box<dyn Port> {
        let socket = self.vpp.folder().join(format!("{name}.sock"));
        let path = socket.display();
        match self.role {
            Role::Memif => Box::new(memif::connect(&self.memif(u32::from(name == "b"), "")).unwrap()),
            Role::VppConnects => {
                let listener = Listener::bind(&socket).unwrap();
                let interface = self.cli(&format!("create vhost-user socket {path}"));
                self.join(&interface);
                Box::new(listener.accept(CONNECTED_WITHIN).unwrap())
            }
            Role::VppListens => {
                let interface = self.cli(&format!("create vhost-user socket {path} server"));
                self.join(&interface);
                Box::new(vhost_user::connect(&socket).unwrap())
            }
        }
    }
}

#[test]
fn frames_pass_over_memif() {
    if let Some(bridge) = Bridge::start(Role::Memif) {
        exchange(&bridge);
    }
}

#[test]
fn frames_pass_over_vhost_user_where_vpp_connects() {
    if let Some(bridge) = Bridge::start(Role::VppConnects) {
        exchange(&bridge);
    }
}

#[test]
fn frames_pass_over_vhost_user_where_vpp_listens() {
    if let Some(bridge) = Bridge::start(Role::VppListens) {
        exchange(&bridge);
    }
}

#[test]
fn a_wrong_secret_and_a_wrong_id_are_refused_with_the_reason_of_vpp() {
    let Some(bridge) = Bridge::start(Role::Memif) else { return };
    let right = bridge.memif(3, "right");
    let refused = |target: &Target| match memif::connect(target) {
        Err(Error::Negotiation { source, .. }) => source.to_string(),
        Err(Error::Disconnected) => "disconnected".to_owned(),
        other => panic!("{other:?}"),
    };
    refused(&Target { secret: "wrong".to_owned(), ..right.clone() });
    refused(&Target { id: 4, ..right.clone() });
    memif::connect(&right).unwrap();
}

#[test]
fn the_end_of_vpp_is_seen() {
    let Some(mut bridge) = Bridge::start(Role::Memif) else { return };
    let target = bridge.memif(0, "");
    let mut port = memif::connect(&target).unwrap();
    bridge.vpp.kill().unwrap();
    let deadline = Instant::now() + CONNECTED_WITHIN;
    // Frames that VPP sent before it ended are read first.
    while !matches!(port.receive(&mut Vec::new()), Err(Error::Disconnected)) {
        assert!(Instant::now() < deadline && port.wait(CONNECTED_WITHIN).unwrap());
    }
    assert!(matches!(memif::connect(&target), Err(Error::Socket { .. })));
}
