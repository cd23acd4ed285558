//! The plugin and the agent apply the same operations concurrently.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, create_bridge, observe, port_name, remove_bridge};
use crate::vpp::switch::VppSwitch;
use std::thread;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::port::PortBackend;

const ROUNDS: usize = 20;

/// Two processes with the same operations, each with a connection of its own.
fn at_once(switch: &VppSwitch, operations: [&[Op]; 2]) -> [Vec<Result<(), OpError>>; 2] {
    let mut engines = [switch.engine(), switch.engine()];
    thread::scope(|scope| {
        let [first, second] = &mut engines;
        let first = scope.spawn(|| apply(first, operations[0]));
        let second = apply(second, operations[1]);
        [first.join().expect("no panic"), second]
    })
}

pub(crate) fn the_same_ports_are_created_once(switch: &mut VppSwitch) {
    // VPP opens a tap twice, as another queue of it. The lock of an attachment prevents that.
    if matches!(switch.backend("c1"), PortBackend::Tap { .. }) {
        return;
    }
    let blue = switch.network("blue");
    let containers = ["c1", "c2", "c3"];
    let desired = switch.desired(std::slice::from_ref(&blue), &containers);
    let mut engine = switch.engine();
    let ports: Vec<_> = containers.iter().map(|container| switch.create_port(container, &blue)).collect();
    for round in 0..ROUNDS {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
        for results in at_once(switch, [&ports, &ports]) {
            assert!(results.iter().all(Result::is_ok), "round {round}: {results:?}");
        }
        assert_eq!(diff(&desired, &observe(&mut engine)), [], "round {round}");
        let mut other_client = switch.other_client();
        // VPP has a socket id of its own.
        let memifs = other_client.memifs().len();
        let all = memifs + other_client.vhost_users().len() + other_client.on_devices().len();
        assert_eq!((all, other_client.sockets().len()), (3, memifs + 1), "round {round}");
    }
}

pub(crate) fn the_same_bridges_are_created_once(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let networks = ["blue", "green", "red"].map(|name| switch.network(name));
    let bridges = networks.each_ref().map(create_bridge);
    for round in 0..ROUNDS {
        for results in at_once(switch, [&bridges, &bridges]) {
            assert!(results.iter().all(Result::is_ok), "round {round}: {results:?}");
        }
        assert_eq!(diff(&switch.desired(&networks, &[]), &observe(&mut engine)), []);
        converge(&mut engine, &Desired::default());
    }
}

/// One attaches while the other detaches another attachment, or deletes the bridge: whatever the
/// outcome, the next plan repairs it and nothing is left over.
pub(crate) fn a_port_is_created_while_its_bridge_is_deleted(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let (create, remove) = ([switch.create_port("c1", &blue)], [remove_bridge(&blue)]);
    for round in 0..ROUNDS {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
        let [created, _removed] = at_once(switch, [&create, &remove]);
        assert_eq!(created[0].is_ok(), switch.forwards(bridge(&blue), &port_name("c1")), "round {round}: {created:?}");
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
        converge(&mut engine, &Desired::default());
        assert!(switch.other_client().ports() == 0 && observe(&mut engine).bridges.is_empty(), "round {round}");
    }
}

/// A concurrent creation and deletion conflict; the port is complete or deleted afterwards.
pub(crate) fn a_port_is_created_while_it_is_deleted(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let (create, remove) = ([switch.create_port("c1", &blue)], [switch.remove_port_op("c1", &blue)]);
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c2"]));
    let identity = switch.port_identity(&port_name("c2"));
    for round in 0..ROUNDS {
        let _any = at_once(switch, [&create, &remove]);
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
        assert_eq!(switch.other_client().ports(), 2, "round {round}");
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c2"]));
        assert_eq!(switch.other_client().ports(), 1, "round {round}");
    }
    assert_eq!(switch.port_identity(&port_name("c2")), identity, "a port beside it was touched");
}
