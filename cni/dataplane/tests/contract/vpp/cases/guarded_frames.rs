//! What a pod forges, on a bridge domain with two other pods that have guards, too. All frames of
//! the table are sent as they are, and looked for at both.

#![expect(clippy::print_stdout, reason = "how many frames were sent is a figure for a reader")]

use super::guards::{OF_A, desired, network};
use super::programs::converge_with_program;
use crate::flood::Flood;
use crate::guard_frames::{self, Frame, untagged};
use crate::switch::Switch;
use crate::testpmd::Testpmd;
use crate::values::{bridge, converge, port_name};
use crate::vpp::switch::{PortKind, TIMEOUT, VppSwitch};
use smoltcp::phy::{Device as _, Medium, RawSocket, RxToken as _, TxToken as _};
use smoltcp::time::Instant as Now;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_dataplane::counters::CounterReader;
use usnet_dataplane::desired::Desired;

const OF_B: &str = "02:00:00:00:00:0b 10.9.0.11 fd09::b";
const OF_C: &str = "02:00:00:00:00:0c 10.9.0.12 fd09::c";
/// What no table can tell from own frames.
const PASSING: [&str; 3] = ["IPv4 own, total length too short", "NA own, tll of c", "NS own, sll of c"];
/// How often the guard is replaced; the port is recreated for each tenth.
const REPLACEMENTS: usize = 300;
/// How many frames are sent before the action.
const WARM_UP: u64 = 1000;

/// The tap whose frames the program of pod a sends.
const TAP: &str = "program";

struct Ends {
    sender: RawSocket,
    receivers: [RawSocket; 2],
    broadcasts: u32,
    _program: Option<Testpmd>,
}

/// The pod's end of the pair of a container.
fn device(container: &str) -> String {
    port_name(container).as_str().replace("vhu", "pod")
}

fn guarded(switch: &VppSwitch, of_a: Option<&str>) -> Desired {
    desired(switch, &network(switch), &[("c1", of_a), ("c2", Some(OF_B)), ("c3", Some(OF_C))])
}

impl Ends {
    /// The ports, and their ends in pods.
    fn new(switch: &VppSwitch, of_a: Option<&str>) -> Self {
        converge(&mut switch.engine(), &guarded(switch, of_a));
        Self::of_devices(&device("c1"), None)
    }

    /// The same, where pod a has a port of another kind, whose program sends what it is given as it
    /// is.
    fn by_program(switch: &VppSwitch, of_a: &str, port_kind: PortKind) -> Self {
        let program = converge_with_program(switch, guarded(switch, Some(of_a)), ("c1", port_kind), TAP);
        Self::of_devices(TAP, Some(program))
    }

    fn of_devices(sender: &str, program: Option<Testpmd>) -> Self {
        let [sender, b, c] = [sender, &device("c2"), &device("c3")]
            .map(|device| RawSocket::new(device, Medium::Ethernet).expect("a packet socket"));
        Self { sender, receivers: [b, c], broadcasts: 0, _program: program }
    }

    fn send(&mut self, frame: &Frame) {
        let token = self.sender.transmit(Now::now()).expect("always");
        token.consume(frame.bytes.len(), |buffer| buffer.copy_from_slice(&frame.bytes));
    }

    /// Sends own broadcasts until one has arrived at both others: a VPP without workers forwards in
    /// order. Returns all that arrived at either.
    fn settle(&mut self) -> BTreeSet<Vec<u8>> {
        let end = Instant::now() + TIMEOUT;
        let mut all = [BTreeSet::new(), BTreeSet::new()];
        while Instant::now() < end {
            self.broadcasts += 1;
            let frame = guard_frames::own_broadcast(self.broadcasts);
            self.send(&frame);
            let patience = Instant::now() + Duration::from_millis(200);
            while Instant::now() < patience {
                for (socket, all) in self.receivers.iter_mut().zip(&mut all) {
                    while let Some((token, _)) = socket.receive(Now::now()) {
                        all.insert(token.consume(untagged));
                    }
                }
                if all.iter().all(|all| all.contains(&frame.bytes)) {
                    return all.into_iter().flatten().collect();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        panic!("an own frame does not arrive at both");
    }

    /// Sends frames, and returns the names of those that arrived at either of the other pods.
    fn arrived(&mut self, sent: &[Frame]) -> BTreeSet<&'static str> {
        self.settle();
        sent.iter().for_each(|frame| self.send(frame));
        let received = self.settle();
        sent.iter().filter(|frame| received.contains(&untagged(&frame.bytes))).map(|frame| frame.name).collect()
    }

    /// Pod a sends forged frames before and during an action. Returns how many it sent during it.
    fn attack(&mut self, during: impl FnOnce()) -> u64 {
        let forged: Vec<Frame> =
            guard_frames::forged().into_iter().filter(|frame| !PASSING.contains(&frame.name)).collect();
        let flood = Flood::default();
        let sent = std::thread::scope(|scope| {
            let next = |number: u32| forged[usize::try_from(number).expect("64 bits") % forged.len()].bytes.clone();
            let running = flood.start(scope, (device("c1"), None), next);
            let end = Instant::now() + TIMEOUT;
            while flood.sent() < WARM_UP && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            let before = flood.sent();
            during();
            drop(running);
            flood.sent() - before
        });
        let received = self.settle();
        let forged: BTreeSet<Vec<u8>> = forged.iter().map(|frame| untagged(&frame.bytes)).collect();
        let arrived: Vec<&Vec<u8>> = received.intersection(&forged).collect();
        assert!(arrived.is_empty(), "{arrived:x?}");
        assert!(sent > 0);
        sent
    }
}

pub(crate) fn own_frames_arrive_and_of_the_forged_ones_three(switch: &mut VppSwitch) {
    own_frames_arrive_and_three(switch, Ends::new(switch, Some(OF_A)));
}

pub(crate) fn by_memif_own_frames_arrive_and_of_the_forged_ones_three(switch: &mut VppSwitch) {
    by_program(switch, PortKind::MemifVolume);
}

pub(crate) fn by_vhost_user_own_frames_arrive_and_of_the_forged_ones_three(switch: &mut VppSwitch) {
    by_program(switch, PortKind::VhostUserClient);
}

pub(crate) fn where_vpp_listens_own_frames_arrive_and_of_the_forged_ones_three(switch: &mut VppSwitch) {
    by_program(switch, PortKind::VhostUserServer);
}

fn by_program(switch: &VppSwitch, port_kind: PortKind) {
    if Testpmd::is_installed() {
        own_frames_arrive_and_three(switch, Ends::by_program(switch, OF_A, port_kind));
    }
}

fn own_frames_arrive_and_three(switch: &VppSwitch, mut ends: Ends) {
    let all = guard_frames::all();
    let expected = all.iter().filter(|frame| frame.is_own || PASSING.contains(&frame.name)).map(|frame| frame.name);
    assert_eq!(ends.arrived(&all), expected.collect());
    let refused = all.iter().filter(|frame| !frame.is_own && !PASSING.contains(&frame.name)).count();
    let mut reader = CounterReader::new(VppSwitch::KIND, switch.control_socket());
    let dropped = reader.read().expect("counters")[&port_name("c1")].transmit.dropped;
    // Not all of them reach VPP: devices of the kernel may drop malformed ones.
    assert!(dropped >= u64::try_from(refused / 2).ok(), "{dropped:?} of {refused} refused frames are counted");
}

pub(crate) fn fragments_hide_nothing(switch: &mut VppSwitch) {
    let mut ends = Ends::new(switch, Some(OF_A));
    let expected = [
        "DHCP server offer, first fragment of 0 bytes",
        "IPv6 own, first fragment of UDP",
        "IPv6 own, later fragment of UDP",
    ];
    assert_eq!(ends.arrived(&guard_frames::fragments()), expected.into());
}

pub(crate) fn without_a_guard_another_pod_can_be_claimed(switch: &mut VppSwitch) {
    let mut ends = Ends::new(switch, None);
    let arrived = ends.arrived(&[guard_frames::named("MAC and IPv4 of c"), guard_frames::named("IPv4 of c")]);
    assert_eq!(arrived.len(), 2, "{arrived:?}");
}

pub(crate) fn no_forged_frame_arrives_while_vpp_is_restarted(switch: &mut VppSwitch) {
    let mut ends = Ends::new(switch, Some(OF_A));
    let sent = ends.attack(|| {
        switch.kill();
        switch.restart();
        converge(&mut switch.engine(), &guarded(switch, Some(OF_A)));
    });
    println!("{sent} forged frames while VPP was restarted");
}

pub(crate) fn no_forged_frame_arrives_while_a_guard_is_replaced(switch: &mut VppSwitch) {
    let mut ends = Ends::new(switch, Some(OF_A));
    let (mut engine, mut longest) = (switch.engine(), Duration::ZERO);
    let sent = ends.attack(|| {
        for number in 0..REPLACEMENTS {
            let addresses = if number % 2 == 0 { "02:00:00:00:00:0a 10.9.0.10" } else { OF_A };
            let since = Instant::now();
            converge(&mut engine, &guarded(switch, Some(addresses)));
            longest = longest.max(since.elapsed());
        }
    });
    println!("{sent} forged frames in {REPLACEMENTS} replacements, {longest:?} the longest");
}

pub(crate) fn no_forged_frame_arrives_while_its_port_is_recreated(switch: &mut VppSwitch) {
    let mut ends = Ends::new(switch, Some(OF_A));
    let mut engine = switch.engine();
    let blue = network(switch);
    let sent = ends.attack(|| {
        for _ in 0..REPLACEMENTS / 10 {
            switch.remove_port(bridge(&blue), &port_name("c1"));
            converge(&mut engine, &guarded(switch, Some(OF_A)));
        }
    });
    println!("{sent} forged frames while the port was recreated");
}
