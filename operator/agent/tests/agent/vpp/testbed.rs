//! A node with a VPP of its own, and observations of that VPP.

use crate::support::node::{Node, network_with, until};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::memif::MemifSocket;
use usnet_dataplane::port::PortBackend;
use usnet_test_vpp::{Builder, Kind, Vpp};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BridgeDomainDetails, BridgeDomainDump, IfStatusFlags, MemifDump, MemifSocketFilenameDump, NO_BRIDGE_DOMAIN,
    NO_INTERFACE, Request, SwInterfaceDetails, SwInterfaceDump, SwInterfaceSpanDump, SwInterfaceTxPlacementGet,
};
use usnet_vpp::{Answers, Batch, Dump};

const AMPLE: Duration = Duration::from_secs(30);

/// A node whose VPP runs.
pub(crate) struct VppTestbed {
    pub(crate) vpp: Vpp,
    node: Node,
    /// One connection for all requests, of which there are many.
    client: RefCell<Option<Client>>,
}

impl Deref for VppTestbed {
    type Target = Node;
    fn deref(&self) -> &Node {
        &self.node
    }
}

/// A complete port, as it is observed in VPP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedPort {
    pub(crate) sw_if_index: u32,
    pub(crate) tag: String,
    pub(crate) mtu: u32,
    pub(crate) bridge_domain: u32,
}

/// A network with VPP.
pub(crate) fn network(name: &str) -> NodeNetwork {
    network_with(EngineKind::Vpp, name)
}

/// The id of a network's bridge domain.
pub(crate) fn domain_id(network: &NodeNetwork) -> u32 {
    network.bridge.name.as_str().parse().unwrap()
}

impl VppTestbed {
    /// A node whose VPP lacks some plugins; none if this machine has no such VPP.
    pub(crate) fn start(kind: Kind, missing: &[&str]) -> Option<Self> {
        let builder = Vpp::builder(kind.or_skip()?);
        Some(Self::with(missing.iter().fold(builder, |builder, plugin| builder.without_plugin(plugin))))
    }

    /// A node with this VPP.
    pub(crate) fn with(builder: Builder) -> Self {
        let vpp = builder.start().unwrap();
        let node = Node::new(None, Some(vpp.socket().to_owned()));
        Self { vpp, node, client: RefCell::default() }
    }

    /// Sends a batch to the VPP that runs now, which may be another process than before.
    fn send(&self, batch: &Batch) -> Answers {
        let mut client = self.client.borrow_mut();
        until("VPP answers", || {
            let mut connected = match client.take() {
                Some(connected) => connected,
                None => Client::connect(self.vpp.socket(), AMPLE).ok()?,
            };
            let answers = connected.send(batch).ok()?;
            *client = Some(connected);
            Some(answers)
        })
    }

    /// Sends a request as another client of VPP.
    pub(crate) fn request<R: Request>(&self, request: R) -> R::Reply {
        let mut batch = Batch::new();
        let ticket = batch.request(request);
        self.send(&batch).reply(ticket).unwrap()
    }

    /// Sends many requests in one batch.
    pub(crate) fn request_all<R: Request>(&self, requests: impl IntoIterator<Item = R>) {
        let mut batch = Batch::new();
        let tickets: Vec<_> = requests.into_iter().map(|request| batch.request(request)).collect();
        let answers = self.send(&batch);
        tickets.into_iter().for_each(|ticket| drop(answers.reply(ticket).unwrap()));
    }

    pub(crate) fn dump<D: Dump>(&self, dump: D) -> Vec<D::Details> {
        let mut batch = Batch::new();
        let ticket = batch.dump(dump);
        self.send(&batch).details(ticket).unwrap()
    }

    /// The threads that send by each queue of an interface.
    pub(crate) fn threads(&self, sw_if_index: u32) -> Vec<Vec<u32>> {
        let mut batch = Batch::new();
        let ticket = batch.get(SwInterfaceTxPlacementGet { cursor: 0, sw_if_index });
        let queues = self.send(&batch).got(ticket).map_or_else(|_| Vec::new(), |(queues, _)| queues);
        queues.into_iter().map(|queue| queue.threads).collect()
    }

    /// An attached pod with a memif.
    pub(crate) fn pod(&self, container: &str, network: &NodeNetwork) -> Record {
        let socket = MemifSocket::file(self.vpp.folder().join(format!("{container}.sock"))).unwrap();
        self.record(container, network, PortBackend::memif(socket))
    }

    pub(crate) fn domains(&self) -> BTreeMap<u32, BridgeDomainDetails> {
        let mut batch = Batch::new();
        let ticket = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
        let details = self.send(&batch).details(ticket).unwrap();
        details.into_iter().map(|domain| (domain.bd_id, domain)).collect()
    }

    pub(crate) fn interfaces(&self) -> Vec<SwInterfaceDetails> {
        let mut batch = Batch::new();
        let dump = SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() };
        let ticket = batch.dump(dump);
        self.send(&batch).details(ticket).unwrap()
    }

    /// The memifs that are up and tagged, by their socket.
    pub(crate) fn ports(&self) -> BTreeMap<String, ObservedPort> {
        let mut batch = Batch::new();
        let (memifs, sockets) = (batch.dump(MemifDump {}), batch.dump(MemifSocketFilenameDump {}));
        let answers = self.send(&batch);
        let sockets: BTreeMap<u32, String> = answers
            .details(sockets)
            .unwrap()
            .into_iter()
            .map(|socket| (socket.socket_id, socket.socket_filename.to_string()))
            .collect();
        let memifs: BTreeMap<u32, String> = answers
            .details(memifs)
            .unwrap()
            .into_iter()
            .filter_map(|memif| Some((memif.sw_if_index, sockets.get(&memif.socket_id)?.clone())))
            .collect();
        let members: BTreeMap<u32, u32> = self
            .domains()
            .values()
            .flat_map(|domain| domain.sw_if_details.iter().map(|member| (member.sw_if_index, domain.bd_id)))
            .collect();
        let whole = self.interfaces().into_iter().filter(|observed| observed.flags.contains(IfStatusFlags::ADMIN_UP));
        whole
            .filter_map(|observed| {
                let sw_if_index = observed.sw_if_index;
                let port = ObservedPort {
                    sw_if_index,
                    tag: Some(observed.tag.to_string()).filter(|tag| !tag.is_empty())?,
                    mtu: observed.mtu[0],
                    bridge_domain: *members.get(&sw_if_index)?,
                };
                Some((memifs.get(&sw_if_index)?.clone(), port))
            })
            .collect()
    }

    /// How many interfaces are copied to another.
    pub(crate) fn spans(&self) -> usize {
        let mut batch = Batch::new();
        let ticket = batch.dump(SwInterfaceSpanDump { is_l2: false });
        self.send(&batch).details(ticket).unwrap().len()
    }

    /// The messages that changed something, which only the simulator records.
    pub(crate) fn changes(&self) -> Vec<String> {
        let log = self.vpp.simulator().map(usnet_test_vpp::Simulator::log).unwrap_or_default();
        log.iter().filter(|entry| entry.changes).map(|entry| format!("{entry:?}")).collect()
    }

    /// The complete port of a pod; none while there is none.
    pub(crate) fn port(&self, pod: &Record) -> Option<ObservedPort> {
        let socket = pod.port.backend.socket_file().unwrap().display().to_string();
        self.ports().remove(&socket).filter(|port| port.bridge_domain.to_string() == pod.port.bridge.as_str())
    }

    pub(crate) fn wait_for_port(&self, pod: &Record) -> ObservedPort {
        until(&format!("{} has a port", pod.id), || self.port(pod))
    }
}
