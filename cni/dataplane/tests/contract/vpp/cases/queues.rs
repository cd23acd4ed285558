//! The queues of a connected program, which is another VPP: set once it connects, and put back.

use crate::switch::Switch;
use crate::values::{Values, bridge, converge, observe, port_name};
use crate::vpp::other_client::OtherClient;
use crate::vpp::switch::VppSwitch;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::{Polling, Queues};
use usnet_dataplane::observed::{ObservedPort, Peer};
use usnet_dataplane::port::ObservedQueues;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::messages::{
    IfStatusFlags, MemifCreateV2, MemifRole, RxMode, SwInterfaceSetFlags, SwInterfaceSetRxMode,
    SwInterfaceSetTxPlacement,
};

const TIMEOUT: Duration = Duration::from_secs(20);

fn port(switch: &VppSwitch) -> ObservedPort {
    let blue = switch.network("blue");
    observe(&mut switch.engine()).bridges[bridge(&blue)].ports[&port_name("c1")].clone()
}

fn wait_for(switch: &VppSwitch, expected: Peer) {
    let end = Instant::now() + TIMEOUT;
    while port(switch).peer != expected {
        assert!(Instant::now() < end, "the peer is not {expected:?}");
        sleep(Duration::from_millis(20));
    }
}

/// A pod's program with two queues, until it is dropped.
fn connect(switch: &VppSwitch) -> Vpp {
    let vpp = Vpp::start(Kind::Real).expect("there was one");
    let mut program = OtherClient::new(vpp.socket().to_owned());
    let socket = switch.backend("c1").socket_file().expect("a file").display().to_string();
    program.add_socket(1, &socket);
    let (rx_queues, tx_queues) = (2, 2);
    let client =
        MemifCreateV2 { role: MemifRole::Slave, socket_id: 1, rx_queues, tx_queues, ..MemifCreateV2::default() };
    let sw_if_index = program.request(client).sw_if_index;
    program.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    wait_for(switch, Peer::Connected);
    vpp
}

fn queues(mode: Polling) -> ObservedQueues {
    ObservedQueues { polling: [mode].into(), ..ObservedQueues::default() }
}

pub(crate) fn queues_are_set_when_a_program_connects_and_put_back(switch: &mut VppSwitch) {
    let mut blue = switch.network("blue");
    (blue.port.queues, blue.port.polling) = (Queues::try_from(2).expect("a number"), Some(Polling::Interrupt));
    let mut desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let mut engine = switch.engine();
    converge(&mut engine, &desired);
    let program = connect(switch);
    let found = port(switch).settings.queues;
    assert_eq!(found, ObservedQueues { are_spread: Some(false), ..queues(Polling::Polling) });
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    assert_eq!(port(switch).settings.queues, queues(Polling::Interrupt));
    let identity = switch.port_identity(&port_name("c1"));

    let sw_if_index = switch.other_client().interface(&port_name("c1")).sw_if_index;
    switch.other_client().request(SwInterfaceSetTxPlacement { sw_if_index, queue_id: 1, threads: vec![] });
    assert_eq!(port(switch).settings.queues.are_spread, Some(false));
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    let (queue_id_valid, queue_id, mode) = (true, 1, RxMode::Adaptive);
    switch.other_client().request(SwInterfaceSetRxMode { sw_if_index, queue_id_valid, queue_id, mode });
    assert_eq!(port(switch).settings.queues.polling, [Polling::Interrupt, Polling::Adaptive].into());
    assert_eq!(converge(&mut engine, &desired).len(), 1);

    drop(program);
    wait_for(switch, Peer::Absent);
    assert_eq!(converge(&mut engine, &desired), []);
    let _program = connect(switch);
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    assert_eq!(port(switch).settings.queues, queues(Polling::Interrupt));

    blue.port.polling = Some(Polling::Adaptive);
    desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    assert_eq!(port(switch).settings.queues, queues(Polling::Adaptive));
    blue.port.polling = None;
    desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    assert_eq!(converge(&mut engine, &desired), [], "it is left to VPP");
    assert_eq!(switch.port_identity(&port_name("c1")), identity, "the port was recreated");
}
