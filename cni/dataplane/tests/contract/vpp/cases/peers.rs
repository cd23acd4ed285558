//! The pod's end of a memif: another VPP, which is a real one.

use crate::switch::Switch;
use crate::values::{Values, apply, attachment, bridge, converge, create_bridge, create_port, observe, port_name};
use crate::vpp::other_client::OtherClient;
use crate::vpp::switch::VppSwitch;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_dataplane::memif::MemifSecret;
use usnet_dataplane::observed::Peer;
use usnet_dataplane::plan::diff;
use usnet_dataplane::port::AttachedPort;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::messages::{IfStatusFlags, MemifCreateV2, MemifRole, SwInterfaceSetFlags};
use usnet_vpp::wire::Secret;

const TIMEOUT: Duration = Duration::from_secs(20);
/// A memif that is refused tries again after about two seconds, and would have been let in at once.
const REFUSALS: Duration = Duration::from_secs(3);

/// A pod's program at the other end of the port of `c1`, until it is dropped.
fn connect(switch: &VppSwitch, secret: &str) -> Vpp {
    let vpp = Vpp::start(Kind::Real).expect("there was one");
    let mut program = OtherClient::new(vpp.socket().to_owned());
    let socket = switch.backend("c1").socket_file().expect("a file").display().to_string();
    program.add_socket(1, &socket);
    let secret = Secret::new(secret).expect("a short secret");
    let client = MemifCreateV2 { role: MemifRole::Slave, socket_id: 1, secret, ..MemifCreateV2::default() };
    let sw_if_index = program.request(client).sw_if_index;
    program.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    vpp
}

fn peer(switch: &VppSwitch) -> Peer {
    let blue = switch.network("blue");
    observe(&mut switch.engine()).bridges[bridge(&blue)].ports[&port_name("c1")].peer
}

fn wait_for(switch: &VppSwitch, expected: Peer) {
    let end = Instant::now() + TIMEOUT;
    while peer(switch) != expected {
        assert!(Instant::now() < end, "the peer is not {expected:?}");
        sleep(Duration::from_millis(20));
    }
}

pub(crate) fn the_presence_of_the_peer_is_observed(switch: &mut VppSwitch) {
    let desired = switch.desired(&[switch.network("blue")], &["c1"]);
    converge(&mut switch.engine(), &desired);
    assert_eq!(peer(switch), Peer::Absent);
    let program = connect(switch, "");
    wait_for(switch, Peer::Connected);
    assert_eq!(diff(&desired, &observe(&mut switch.engine())), []);
    drop(program);
    wait_for(switch, Peer::Absent);
}

pub(crate) fn a_peer_without_the_secret_is_rejected(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let secret = MemifSecret::try_from("a-secret-of-23-letters.".to_owned()).expect("a secret");
    let port = AttachedPort { secret: Some(secret.clone()), ..switch.port("c1", &blue) };
    let create = create_port(&blue.name, &attachment("c1"), &port);
    assert!(!format!("{create:?}").contains(secret.reveal()));
    assert_eq!(apply(&mut switch.engine(), &[create_bridge(&blue), create]), [Ok(()), Ok(())]);
    let stranger = connect(switch, "another");
    let end = Instant::now() + REFUSALS;
    while Instant::now() < end {
        assert_eq!(peer(switch), Peer::Absent);
        sleep(Duration::from_millis(50));
    }
    drop(stranger);
    let _program = connect(switch, secret.reveal());
    wait_for(switch, Peer::Connected);
}
