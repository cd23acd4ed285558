//! What a script that does not wait does to remove a veth of Open vSwitch: the transaction in a
//! program that runs already, then `ip link del`.

use super::device::{self, Device};
use super::{Contestant, ovs_messages};
use crate::host::node::Node;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use usnet_crds::PortType;
use usnet_ovsdb::Uuid;
use usnet_ovsdb::blocking::Client;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The transaction and `ip link del`.
pub(crate) struct UnwaitedRemoval<'a> {
    node: &'a Node,
    created: Mutex<BTreeMap<usize, Uuid>>,
}

impl<'a> UnwaitedRemoval<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node, created: Mutex::default() }
    }

    fn client(&self) -> Client {
        Client::connect(&self.node.socket, TIMEOUT).expect("the database answers")
    }

    fn device(&self, number: usize) -> Device {
        Device::new(self.node, "plain", number)
    }
}

impl Contestant for UnwaitedRemoval<'_> {
    /// Of no interest.
    fn add(&self, number: usize) -> Duration {
        let (device, start) = (self.device(number), Instant::now());
        device.create();
        let bridge = self.node.network().bridge.name;
        let backend = (PortType::Veth, "");
        let port = ovs_messages::add_port(&mut self.client(), bridge.as_str(), &device.name(), backend);
        self.created.lock().expect("no thread panicked").insert(number, port);
        start.elapsed()
    }

    fn del(&self, number: usize) -> Duration {
        let port = self.created.lock().expect("no thread panicked").remove(&number).expect("it was created");
        let device_name = self.device(number).name();
        let start = Instant::now();
        ovs_messages::remove_port(&mut self.client(), self.node.network().bridge.name.as_str(), port, false);
        device::remove_by_hand(&device_name);
        start.elapsed()
    }
}
