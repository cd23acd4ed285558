//! The floor: a program that runs already connects to the engine, says the least that it has to,
//! and waits until the engine has done it. For a veth it creates the devices as well, with the
//! plugin's functions. It knows what it created, reads and writes no file, and mounts nothing.

use super::device::Device;
use super::kind::PortKind;
use super::{Contestant, ovs_messages, vpp_port};
use crate::host::node::Node;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_ovsdb::Uuid;

const TIMEOUT: Duration = Duration::from_secs(30);

/// What one engine calls a port.
enum Created {
    OpenVswitch(Uuid),
    Vpp(vpp_port::Port),
}

/// The floor for a kind of port.
pub(crate) struct Floor<'a> {
    node: &'a Node,
    kind: &'a PortKind,
    created: Mutex<BTreeMap<usize, Created>>,
}

impl<'a> Floor<'a> {
    pub(crate) fn new(node: &'a Node, kind: &'a PortKind) -> Self {
        Self { node, kind, created: Mutex::default() }
    }

    fn device(&self, number: usize) -> Option<Device> {
        self.kind.is_veth().then(|| Device::new(self.node, "floor", number))
    }

    fn add_port(&self, number: usize, device: Option<&Device>) -> Created {
        let bridge = self.node.network().bridge.name;
        let socket = &self.node.socket;
        match self.node.engine {
            EngineKind::OpenVswitch => {
                let name = device.map_or_else(|| format!("floor{number}"), Device::name);
                let path = self.node.folder.join(format!("floor{number}.sock"));
                let backend = (self.kind.port.port_type, path.to_str().expect("a path of text"));
                let mut client = usnet_ovsdb::blocking::Client::connect(socket, TIMEOUT).expect("the database answers");
                Created::OpenVswitch(ovs_messages::add_port(&mut client, bridge.as_str(), &name, backend))
            }
            EngineKind::Vpp => {
                let id = bridge.as_str().parse().expect("the id of a bridge domain");
                let backend = vpp_port::Backend::new(self.node, &self.kind.port, number, device);
                let mut client = usnet_vpp::blocking::Client::connect(socket, TIMEOUT).expect("VPP answers");
                Created::Vpp(vpp_port::add_port(&mut client, id, backend))
            }
        }
    }

    fn remove_port(&self, created: &Created) {
        let socket = &self.node.socket;
        match created {
            Created::OpenVswitch(port) => {
                let mut client = usnet_ovsdb::blocking::Client::connect(socket, TIMEOUT).expect("the database answers");
                ovs_messages::remove_port(&mut client, self.node.network().bridge.name.as_str(), *port, true);
            }
            Created::Vpp(port) => {
                let mut client = usnet_vpp::blocking::Client::connect(socket, TIMEOUT).expect("VPP answers");
                vpp_port::remove_port(&mut client, port);
            }
        }
    }
}

impl Contestant for Floor<'_> {
    fn add(&self, number: usize) -> Duration {
        let device = self.device(number);
        let start = Instant::now();
        if let Some(device) = &device {
            device.create();
        }
        let created = self.add_port(number, device.as_ref());
        let took = start.elapsed();
        self.created.lock().expect("no thread panicked").insert(number, created);
        took
    }

    fn del(&self, number: usize) -> Duration {
        let created = self.created.lock().expect("no thread panicked").remove(&number).expect("it was created");
        let start = Instant::now();
        self.remove_port(&created);
        if let Some(device) = self.device(number) {
            device.remove();
        }
        start.elapsed()
    }
}
