//! A network with policies and two pods, whose interfaces are veth pairs: the pod `a` of the
//! namespace `clients`, and the pod `b` of the namespace `db`.

use crate::open_vswitch::overlays::{ip, start};
use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::{PATIENCE, network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::Namespace;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_crds::{AntiSpoofing, CompiledPolicySpec, NodeNetwork, Policies, PortType};
use usnet_dataplane::attachment::{Address, Pod, Record};
use usnet_dataplane::ovs::POLICY_ZONE_KEY;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{DeviceName, PortBackend, PortName};

/// A port that policies allow, and one that they do not.
pub(super) const ALLOWED: u16 = 80;
pub(super) const REFUSED: u16 = 81;
pub(super) const A: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 10);
pub(super) const B: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 11);

pub(super) struct Scene {
    pub(super) testbed: OvsTestbed,
    pub(super) paths: NodePaths,
    client: Namespace,
    server: Namespace,
    records: Vec<Record>,
    sender: UdpSocket,
    receivers: [UdpSocket; 2],
    /// How many datagrams ever arrived at the port that policies do not allow.
    refused: Cell<usize>,
}

pub(super) fn blue(policies: Policies) -> NodeNetwork {
    let mut blue = NodeNetwork { policies, ..network("blue") };
    (blue.bridge.is_guarded, blue.port.anti_spoofing) = (true, AntiSpoofing::Address);
    blue.port.port_type = PortType::Veth;
    blue
}

/// Pods of `db` may be reached at these ports of UDP.
pub(super) fn server(first: u16, last: u16) -> Vec<CompiledPolicySpec> {
    let range = PortRange { protocol: TransportProtocol::Udp, first, last };
    with_rules(vec![PolicyRule {
        peers: PeerAddresses::Any,
        peer_pods: BTreeSet::new(),
        ports: DestinationPorts::Within([range].into()),
    }])
}

pub(super) fn with_rules(rules: Vec<PolicyRule>) -> Vec<CompiledPolicySpec> {
    let namespace = "db".parse().unwrap();
    let policy = Policy { namespace, name: "p".to_owned(), pods: None, ingress: Some(rules), egress: None };
    vec![CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)]
}

impl Scene {
    pub(super) fn new() -> Self {
        let (testbed, paths) = start();
        let [client, server] = [Namespace::new(), Namespace::new()];
        let records = [("a", "clients", A, &client), ("b", "db", B, &server)]
            .map(|(pod, namespace, address, netns)| attach(&testbed, (pod, pod, namespace), address, netns));
        let sender = client.run(|| UdpSocket::bind((A, 0)).unwrap()).join().unwrap();
        let bind = |port| server.run(move || UdpSocket::bind((B, port)).unwrap()).join().unwrap();
        let receivers = [ALLOWED, REFUSED].map(bind);
        receivers.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let (records, refused) = (records.to_vec(), Cell::default());
        Self { testbed, paths, client, server, records, sender, receivers, refused }
    }

    /// Starts the agent with the network, and writes the records of the pods.
    pub(super) fn agent(&self, policies: Policies) -> RunningAgent {
        let agent = RunningAgent::start(&self.paths);
        agent.set_spec(1, &[blue(policies)]);
        self.records.iter().for_each(|record| self.testbed.write(record));
        until("both ports are there", || (self.ports().len() == 2).then_some(()));
        agent
    }

    pub(super) fn ports(&self) -> Vec<String> {
        let ports = self.testbed.ovs.vsctl(&["list-ports", "br-blue"]).unwrap_or_default();
        ports.lines().map(str::to_owned).collect()
    }

    /// The pod `b`, as the journal has it.
    pub(super) fn server(&self) -> &Record {
        self.records.last().expect("the server")
    }

    /// The uid of the pod `a`.
    pub(super) fn client_uid(&self) -> String {
        self.records.first().expect("the client").pod.uid.to_string()
    }

    pub(super) fn server_port(&self) -> &PortName {
        &self.records.last().expect("the server").port.name
    }

    /// The tag of the bridge; empty if it has none.
    pub(super) fn zone(&self) -> String {
        let tag = format!("external_ids:\"{POLICY_ZONE_KEY}\"");
        self.testbed.vsctl(&format!("--if-exists get Bridge br-blue {tag}")).trim_matches('"').to_owned()
    }

    pub(super) fn send(&self, port: u16) {
        // Without an answer to ARP the kernel has no route for some time.
        let _unreachable = self.sender.send_to(b"datagram", (B, port));
    }

    pub(super) fn sender(&self) -> UdpSocket {
        self.sender.try_clone().unwrap()
    }

    /// The socket of the port that is allowed.
    pub(super) fn receiver(&self) -> UdpSocket {
        self.receivers[0].try_clone().unwrap()
    }

    /// How many datagrams arrived at each port since the last call.
    pub(super) fn received(&self) -> [usize; 2] {
        let count = |socket: &UdpSocket| {
            let mut count = 0;
            loop {
                match socket.recv_from(&mut [0; 16]) {
                    Ok(_) => count += 1,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let [allowed, refused] = self.receivers.each_ref().map(count);
        self.refused.set(self.refused.get() + refused);
        [allowed, refused]
    }

    /// How many datagrams ever arrived at the second port.
    pub(super) fn refused(&self) -> usize {
        self.received();
        self.refused.get()
    }

    /// Waits until datagrams arrive at these ports and at no other: none of an earlier state is on
    /// its way then.
    pub(super) fn wait_until(&self, what: &str, expected: [bool; 2]) {
        let mut stable = 0;
        until(what, || {
            self.received();
            let end = Instant::now() + Duration::from_millis(100);
            let mut arrived = [0; 2];
            while Instant::now() < end && arrived.map(|count| count > 0) != [true, true] {
                [REFUSED, ALLOWED].into_iter().for_each(|port| self.send(port));
                std::thread::sleep(Duration::from_millis(5));
                let more = self.received();
                arrived = [arrived[0] + more[0], arrived[1] + more[1]];
            }
            stable = if arrived.map(|count| count > 0) == expected { stable + 1 } else { 0 };
            (stable == 3).then_some(())
        });
    }

    /// Removes the pod `b`, and attaches another one in its place.
    pub(super) fn recreate_server(&mut self, container: &str) {
        let old = self.records.pop().unwrap();
        let journal = usnet_dataplane::journal::Journal::open(&self.paths).unwrap();
        journal.lock(&old.id).unwrap().remove().unwrap();
        until("the port is gone", || (self.ports().len() == 1).then_some(()));
        ip(&self.testbed, &format!("link del {}", old.port.name));
        let record = attach(&self.testbed, (container, "b", "db"), B, &self.server);
        self.testbed.write(&record);
        self.records.push(record);
        until("another port is there", || (self.ports().len() == 2).then_some(()));
    }

    /// The MAC addresses that the kernel knows of the other pod are forgotten.
    pub(super) fn forget_neighbors(&self) {
        self.client.ip("neigh flush all");
    }
}

/// Waits until a network is reported with this reason.
pub(super) fn wait_for_reason(agent: &RunningAgent, reason: &str) -> String {
    agent.wait_for_network("blue", reason, |entry| entry.reason == reason).message
}

/// Creates the interface of a pod, and returns the record of its attachment.
fn attach(
    testbed: &OvsTestbed,
    (container, pod, namespace): (&str, &str, &str),
    address: Ipv4Addr,
    netns: &Namespace,
) -> Record {
    let blue = blue(Policies::Enabled);
    let record = testbed.record(container, &blue, backend(container));
    let (name, last) = (record.port.name.to_string(), address.octets()[3]);
    let mac = format!("02:00:00:00:00:{last:02x}");
    // A program of the switch's own mounts does not see the other namespace.
    let node = Namespace::open(&testbed.ovs.network_namespace());
    node.ip(&format!("link add {name} type veth peer name net1 netns {}", netns.path().display()));
    node.ip(&format!("link set {name} alias usnet:{}", record.id));
    node.ip(&format!("link set {name} up"));
    netns.ip(&format!("link set net1 address {mac}"));
    netns.ip("link set net1 up");
    netns.ip(&format!("addr add {address}/24 dev net1"));
    // The switch takes packets without a checksum for invalid ones.
    netns.run(|| std::process::Command::new("ethtool").args(["-K", "net1", "tx", "off"]).output()).join().unwrap().ok();
    let uid = format!("0-{container}").parse().unwrap();
    let pod = Pod { namespace: namespace.to_owned(), name: pod.to_owned(), uid };
    Record { mac, addresses: vec![Address { ip: address.into(), prefix: 24 }], pod, ..record }
}

fn backend(container: &str) -> PortBackend {
    PortBackend::Device { device: DeviceName::of(&usnet_dataplane::testing::attachment(container)) }
}

/// A limit that is never reached if nothing is wrong.
pub(super) const LIMIT: Duration = PATIENCE;
