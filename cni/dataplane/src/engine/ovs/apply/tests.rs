use super::session::phases;
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::owner::PortOwner;
use crate::model::port::DesiredPort;
use crate::plan::Op;
use crate::testing::{network, record};

fn remove_port(container: &str) -> Op {
    let record = record(container, &network("blue"));
    Op::RemovePort {
        bridge: Some("br-blue".into()),
        port: record.port.name,
        owner: PortOwner::new(&record.network, &record.id),
        backend: None,
        interface_index: None,
    }
}

fn create_port(container: &str) -> Op {
    let record = record(container, &network("blue"));
    Op::CreatePort { port: DesiredPort::of_attachment(&record).into() }
}

fn create_bridge(name: &str) -> Op {
    let network = network(name);
    Op::CreateBridge {
        bridge: DesiredBridge::Network { network: network.name, bridge: network.bridge, policy_zone: None },
    }
}

fn lengths(operations: &[Op]) -> Vec<usize> {
    phases(operations).iter().map(|phase| phase.len()).collect()
}

#[test]
fn names_that_are_not_recreated_are_one_phase() {
    assert_eq!(lengths(&[]), [0; 0]);
    assert_eq!(lengths(&[remove_port("c1"), remove_port("c2"), create_bridge("red"), create_port("c3")]), [4]);
}

#[test]
fn a_recreated_name_starts_the_next_phase() {
    let operations = [remove_port("c1"), remove_port("c2"), create_bridge("red"), create_port("c2"), create_port("c1")];
    assert_eq!(lengths(&operations), [3, 2]);
    let bridge = Op::RemoveBridge { bridge: "br-red".into(), owner: BridgeOwner::Network(network("blue").name) };
    assert_eq!(lengths(&[bridge, create_bridge("red")]), [1, 1]);
}
