//! What guards and policies cost the packets of VPP: the clocks of its nodes from one port of a
//! bridge domain to another. VPP itself generates the frames of the first pod, so that no other
//! program shares its core, and what it does before and after is left out.

use super::{PORTS, Port, TURN, middle, turns};
use crate::report::{Targets, table};
use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use usnet_crds::policy::rule::{PortRange, TransportProtocol};
use usnet_crds::{EngineKind, NodeNetwork, RateLimit};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::{MemifSocket, MemifSocketIds};
use usnet_dataplane::owner::Owner;
use usnet_dataplane::plan::diff;
use usnet_dataplane::port::{AttachedPort, DesiredPort, PortBackend, PortName, PortSettings};
use usnet_dataplane::testing::{attachment, desired_port, network_with};
use usnet_dataplane::vpp::Vpp as Driver;
use usnet_dataplane::vpp::policy::rule_set::{Permit, RuleSet, Service};
use usnet_dataplane::vpp::policy::rules::compile;
use usnet_dataplane::vpp::policy::{PortPolicy, enforce, ports};
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the first packets of a connection, and for caches.
const SETTLE: Duration = Duration::from_millis(100);
/// Where the clocks of generating frames and of the ring of the second pod are counted.
const OTHERS: [&str; 5] = ["pg-input", "-output", "-tx", "drop", "memif-input"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Guard,
    /// The second pod may be reached by the first one.
    Policy,
    Both,
}

impl Mode {
    /// The first is what others are compared with.
    const ALL: [Self; 4] = [Self::Off, Self::Guard, Self::Policy, Self::Both];

    const fn name(self) -> &'static str {
        match self {
            Self::Off => "neither",
            Self::Guard => "antiSpoofing: Address",
            Self::Policy => "a policy for the receiver",
            Self::Both => "both",
        }
    }

    /// How many clocks more than the first are enough.
    const fn at_most(self) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::Guard => Some(100.0),
            Self::Policy => Some(200.0),
            Self::Both => Some(320.0),
        }
    }
}

/// A VPP with two ports.
struct Switch {
    vpp: Vpp,
    network: NodeNetwork,
}

pub(super) fn run(targets: &mut Targets) {
    let Some(kind) = Kind::Real.or_skip() else { return };
    let vpp = Vpp::start(kind).expect("VPP starts");
    let mut network = network_with(EngineKind::Vpp, "bench");
    network.bridge.is_guarded = true;
    let switch = Switch { vpp, network };
    let mut samples = Mode::ALL.map(|mode| (mode, Vec::new()));
    for turn in 0..turns() {
        eprintln!("guards and policies of VPP: turn {turn}");
        for (mode, samples) in &mut samples {
            switch.begin(*mode);
            samples.push(switch.measure());
        }
    }
    print(&samples, targets);
}

impl Switch {
    fn client(&self) -> Client {
        Client::connect(self.vpp.socket(), TIMEOUT).expect("VPP answers")
    }

    fn cli(&self, command: &str) -> String {
        self.vpp.cli(command).expect("a command")
    }

    fn port(&self, Port { name, mac, address, .. }: &Port, has_guard: bool) -> (AttachmentId, DesiredPort) {
        let id = attachment(name);
        let socket = self.vpp.folder().join(format!("{name}.sock"));
        let attached = AttachedPort {
            name: PortName::of(&id),
            bridge: self.network.bridge.name.clone(),
            ownership: self.network.bridge.ownership,
            backend: PortBackend::memif(MemifSocket::file(socket).expect("a short path")),
            queues: self.network.port.queues,
            ring_size: self.network.port.ring_size,
            secret: None,
            settings: PortSettings::of_pod(&self.network, "default", name, RateLimit::default()),
            without_af_xdp: None,
        };
        let mut port = desired_port(&self.network.name, &id, &attached);
        port.settings.guard = has_guard.then(|| format!("{mac} {address}").parse().expect("a guard"));
        (id, port)
    }

    /// Has VPP check that from now on.
    fn begin(&self, mode: Mode) {
        let has_guard = matches!(mode, Mode::Guard | Mode::Both);
        let mut desired = Desired::new(vec![self.network.clone()], []);
        for port in &PORTS {
            let (id, port) = self.port(port, has_guard);
            desired.ports.insert(Owner::Attachment(id), port);
        }
        let mut engine = Driver::new(self.client(), MemifSocketIds::default());
        let operations = diff(&desired, &engine.observe().expect("VPP answers"));
        for (operation, result) in operations.iter().zip(engine.apply(&operations).expect("VPP answers")) {
            assert_eq!(result, Ok(()), "{operation}");
        }
        self.restrict(matches!(mode, Mode::Policy | Mode::Both));
    }

    fn restrict(&self, is_restricted: bool) {
        let permit = Permit {
            peer: format!("{}/32", PORTS[0].address).parse().expect("a prefix"),
            service: Service::Ports(PortRange { protocol: TransportProtocol::Udp, first: 53, last: 53 }),
        };
        let rules = compile(&RuleSet { ingress: Some([permit].into()), egress: None }, None);
        let of_second =
            if is_restricted { PortPolicy::Restricted { rules, ends_sessions: true } } else { PortPolicy::Open };
        let mut client = self.client();
        let bridged = now(ports::read(&mut client)).expect("ports");
        let policies = [PortPolicy::Open, of_second];
        let wanted = PORTS.iter().zip(policies).map(|(port, policy)| (self.index(port), policy));
        let wanted: BTreeMap<u32, PortPolicy> = wanted.collect();
        let done = now(enforce(&mut client, &bridged, &wanted, &Default::default())).expect("an answer");
        assert_eq!(done.problem, None);
    }

    /// The name that VPP gives the interface of a port, and its index.
    fn interface(&self, port: &Port) -> (String, u32) {
        let tag = format!("usn={}", attachment(port.name));
        let mut batch = Batch::new();
        let ticket = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
        let details = self.client().send(&batch).expect("VPP").details(ticket).expect("interfaces");
        let is_port = |details: &&SwInterfaceDetails| details.tag.as_str() == tag;
        let details = details.iter().find(is_port).expect("the interface of the port");
        (details.interface_name.as_str().to_owned(), details.sw_if_index)
    }

    fn index(&self, port: &Port) -> u32 {
        self.interface(port).1
    }

    /// The clocks for each packet.
    fn measure(&self) -> f64 {
        let [one, two] = &PORTS;
        let (name, _) = self.interface(one);
        self.cli(&format!(
            "packet-generator new {{ name s limit 0 size 64-64 interface {name} node ethernet-input \
             data {{ IP4: {} -> {} UDP: {} -> {} UDP: 4000 -> 53 incrementing 8 }} }}",
            one.mac, two.mac, one.address, two.address
        ));
        self.cli("packet-generator enable-stream s");
        thread::sleep(SETTLE);
        self.cli("clear runtime");
        thread::sleep(TURN);
        let runtime = self.cli("show runtime");
        self.cli("packet-generator delete s");
        clocks(&runtime)
    }
}

/// The clocks for each packet that came to `l2-output`, of what VPP prints of its nodes: the name,
/// the state, calls, vectors, suspends, and clocks for each vector.
fn clocks(runtime: &str) -> f64 {
    let rows = runtime.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, .., vectors, _, clocks, _] = words.as_slice() else { return None };
        Some((*name, vectors.parse::<f64>().ok()?, clocks.parse::<f64>().ok()?))
    });
    let rows: Vec<(&str, f64, f64)> = rows.filter(|(_, vectors, _)| *vectors > 0.0).collect();
    let packets = rows.iter().find(|(name, ..)| *name == "l2-output").expect("packets pass").1;
    // Policies of the receiver are behind `l2-output`: what they drop is not to be measured.
    let is_end = |name: &str| name != "l2-output" && name.ends_with("-output");
    let sent: f64 = rows.iter().filter(|(name, ..)| is_end(name)).map(|(_, vectors, _)| vectors).sum();
    assert!(sent > 0.9 * packets, "of {packets} packets {sent} pass:\n{runtime}");
    let counted =
        rows.iter().filter(|(name, ..)| *name == "l2-output" || !OTHERS.iter().any(|end| name.ends_with(end)));
    counted.map(|(_, vectors, clocks)| vectors * clocks / packets).sum()
}

/// The result of a future of a client that blocks.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the client does not block"),
    }
}

fn print(samples: &[(Mode, Vec<f64>)], targets: &mut Targets) {
    let (_, without) = &samples[0];
    let row = |(mode, samples): &(Mode, Vec<f64>)| {
        let more = middle(samples.iter().zip(without).map(|(one, other)| one - other).collect());
        let checked = mode.at_most().map_or_else(String::new, |at_most| {
            let target = format!("clocks for each packet more with {}", mode.name());
            targets.check(&target, "VPP, memif".to_owned(), more, at_most)
        });
        vec![mode.name().to_owned(), table::number(middle(samples.clone())), table::number(more), checked]
    };
    let rows: Vec<_> = samples.iter().map(row).collect();
    let columns = ["", "clocks for each packet", "more, in a turn", "target"];
    table::print("VPP: frames from one memif to another, medians", &columns, &rows);
}
