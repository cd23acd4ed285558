//! Captures, as `usnet node capture` starts them, whose program can be "killed".

use super::node::Node;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::capture::lease::{Description, Lease, Leased, Leases};
use usnet_dataplane::capture::{Capture, Captures, Direction};
use usnet_dataplane::owner::PortOwner;
use usnet_node::history_file::{self, Cause};

/// Starts to capture the port of a pod. Dropping its lock is like killing the program.
pub(crate) fn start(node: &Node, pod: &Record) -> Lease {
    let Leased::Granted(lease) = Leases::new(&node.paths).take(&pod.port.name).unwrap() else { panic!("no lease") };
    lease.describe(&Description::from(pod)).unwrap();
    let (number, socket) = (lease.number(), lease.socket());
    let capture = Capture { number, port: pod.port.name.clone(), socket, direction: Direction::Both, snaplen: None };
    let captures = Captures::new(pod.engine, pod.engine_socket.clone());
    captures.start(&capture, &PortOwner::new(&pod.network, &pod.id)).unwrap();
    lease
}

/// The number of abandoned captures in the history.
pub(crate) fn changes(node: &Node) -> usize {
    let history = history_file::read(&node.paths.history_file()).unwrap();
    history.iter().filter(|change| change.cause == Cause::CaptureAbandoned).count()
}
