//! What passes ports with policies: raw frames of three pods, of which the second is restricted.

use super::guards::network;
use super::policies::{desired, keep, sessions};
use super::programs::converge_with_program;
use crate::guard_frames::untagged;
use crate::switch::Switch;
use crate::testpmd::Testpmd;
use crate::values::{Values, converge, port_name};
use crate::vpp::switch::{PortKind, TIMEOUT, VppSwitch};
use smoltcp::phy::{Device as _, Medium, RawSocket, RxToken as _, TxToken as _};
use smoltcp::time::Instant as Now;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_crds::policy::rule::{PortRange, TransportProtocol};
use usnet_dataplane::vpp::policy::PortPolicy;
use usnet_dataplane::vpp::policy::rule_set::{Permit, RuleSet, Service};
use usnet_dataplane::vpp::policy::rules::compile;
use usnet_dataplane::vpp::policy::sessions::Sessions;

const PODS: [&str; 3] = ["c1", "c2", "c3"];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP_OF_IPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// How many sessions there may be where that is tested.
const SESSIONS_MAX: u64 = 20;
const BROADCAST: [u8; 6] = [0xff; 6];
/// The tap of a pod's program.
const TAP: &str = "program";

/// The pod's end of the pair of a container.
fn device(container: &str) -> String {
    port_name(container).as_str().replace("vhu", "pod")
}

fn mac(pod: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, last(pod)]
}

fn last(pod: usize) -> u8 {
    u8::try_from(10 + pod).expect("a few")
}

/// A packet of IPv4 from one pod to another.
fn packet([from, to]: [usize; 2], (protocol, source, destination): (u8, u16, u16), flags: u8) -> Vec<u8> {
    let payload = 20_u8;
    let mut bytes = [mac(to), mac(from)].concat();
    bytes.extend([8, 0, 0x45, 0, 0, 20 + payload, 0, 0, 0, 0, 64, protocol, 0, 0]);
    bytes.extend([10, 9, 0, last(from), 10, 9, 0, last(to)]);
    bytes.extend(source.to_be_bytes().into_iter().chain(destination.to_be_bytes()));
    if protocol == TCP {
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    } else {
        bytes.extend([0, payload, 0, 0]);
        bytes.extend([7; 12]);
    }
    // The checksum of the header.
    let words = bytes[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from(folded & 0xffff).expect("16 bits");
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The same of IPv6.
fn packet_of_ipv6([from, to]: [usize; 2], (protocol, source, destination): (u8, u16, u16), flags: u8) -> Vec<u8> {
    let segment = &packet([from, to], (protocol, source, destination), flags)[34..];
    let length = u8::try_from(segment.len()).expect("a short segment");
    let header = [&[0x86, 0xdd, 0x60, 0, 0, 0, 0, length, protocol, 64][..], &ipv6(from), &ipv6(to)].concat();
    [&mac(to)[..], &mac(from), &header, segment].concat()
}

fn ipv6(pod: usize) -> [u8; 16] {
    let mut address = [0; 16];
    [address[0], address[1], address[15]] = [0xfd, 9, last(pod)];
    address
}

/// A neighbor solicitation, which asks for the address of a pod.
fn solicitation(from: usize, target: usize) -> Vec<u8> {
    let header = [0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, ICMP_OF_IPV6, 255];
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, last(target)];
    let destination = [0x33, 0x33, 0xff, 0, 0, last(target)];
    let message = [&[SOLICITATION, 0, 0, 0, 0, 0, 0, 0][..], &ipv6(target)].concat();
    [&destination[..], &mac(from), &header, &ipv6(from), &group, &message].concat()
}

/// A request of ARP, which every pod gets.
fn arp(from: usize, number: u16) -> Vec<u8> {
    let mut bytes = [BROADCAST, mac(from)].concat();
    bytes.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    bytes.extend(mac(from));
    bytes.extend([10, 9, 0, last(from), 0, 0, 0, 0, 0, 0, 10, 9]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(60, 0);
    bytes
}

fn of_type(from: usize, ethertype: [u8; 2]) -> Vec<u8> {
    let mut bytes = [BROADCAST, mac(from)].concat();
    bytes.extend(ethertype);
    bytes.resize(60, 7);
    bytes
}

struct Ends {
    sockets: [RawSocket; 3],
    markers: u16,
    _program: Option<Testpmd>,
}

impl Ends {
    fn new() -> Self {
        Self::of_devices(PODS.map(device), None)
    }

    fn of_devices(devices: [String; 3], program: Option<Testpmd>) -> Self {
        let open = |device: String| RawSocket::new(&device, Medium::Ethernet).expect("a packet socket");
        Self { sockets: devices.map(open), markers: 0, _program: program }
    }

    fn send(&mut self, from: usize, bytes: &[u8]) {
        let token = self.sockets[from].transmit(Now::now()).expect("always");
        token.consume(bytes.len(), |buffer| buffer.copy_from_slice(bytes));
    }

    /// Which pods a frame reaches. A request of ARP follows it, and arrives after it: a VPP without
    /// workers forwards in order.
    fn reaches(&mut self, from: usize, bytes: &[u8]) -> BTreeSet<usize> {
        self.send(from, bytes);
        let others: BTreeSet<usize> = (0..3).filter(|pod| *pod != from).collect();
        let (mut reached, mut settled) = (BTreeSet::new(), BTreeSet::new());
        let end = Instant::now() + TIMEOUT;
        while settled != others {
            assert!(Instant::now() < end, "ARP arrives at {settled:?} alone");
            self.markers += 1;
            let marker = arp(from, self.markers);
            self.send(from, &marker);
            let patience = Instant::now() + Duration::from_millis(200);
            while settled != others && Instant::now() < patience {
                for pod in &others {
                    while let Some((token, _)) = self.sockets[*pod].receive(Now::now()) {
                        let received = token.consume(untagged);
                        reached.extend((received == untagged(bytes)).then_some(*pod));
                        settled.extend((received == untagged(&marker)).then_some(*pod));
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        reached
    }

    #[track_caller]
    fn arrives(&mut self, ends: [usize; 2], ports: (u8, u16, u16), flags: u8, expected: bool) {
        self.is_reached(ends, &packet(ends, ports, flags), expected);
    }

    #[track_caller]
    fn arrives_by_ipv6(&mut self, ends: [usize; 2], ports: (u8, u16, u16), flags: u8, expected: bool) {
        self.is_reached(ends, &packet_of_ipv6(ends, ports, flags), expected);
    }

    #[track_caller]
    fn is_reached(&mut self, [from, to]: [usize; 2], bytes: &[u8], expected: bool) {
        let reached = self.reaches(from, bytes);
        assert_eq!(reached.contains(&to), expected, "{from} to {to}: {bytes:02x?} {reached:?}");
    }
}

/// The pod a may reach ports 80 of TCP and 53 of UDP.
fn from_a() -> RuleSet {
    from("10.9.0.10/32")
}

fn from(peer: &str) -> RuleSet {
    let permit = |protocol, port| Permit {
        peer: peer.parse().expect("a prefix"),
        service: Service::Ports(PortRange { protocol, first: port, last: port }),
    };
    let permits = [permit(TransportProtocol::Tcp, 80), permit(TransportProtocol::Udp, 53)];
    RuleSet { ingress: Some(permits.into()), egress: None }
}

fn restrict(switch: &VppSwitch, rules: &RuleSet, earlier: Option<&RuleSet>, ends_sessions: bool) {
    let policy = PortPolicy::Restricted { rules: compile(rules, earlier), ends_sessions };
    let done = keep(switch, &[("c1", PortPolicy::Open), ("c2", policy), ("c3", PortPolicy::Open)]);
    assert_eq!(done.problem, None);
}

fn start(switch: &VppSwitch) -> Ends {
    let blue = network(switch);
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &PODS));
    learned(Ends::new())
}

/// The same, where pod b has a port of another kind, with a program.
fn start_with_program(switch: &VppSwitch, port_kind: PortKind) -> Ends {
    let blue = network(switch);
    let desired = switch.desired(std::slice::from_ref(&blue), &PODS);
    let program = converge_with_program(switch, desired, (PODS[B], port_kind), TAP);
    learned(Ends::of_devices([device(PODS[A]), TAP.to_owned(), device(PODS[C])], Some(program)))
}

/// Where each pod is becomes known.
fn learned(mut ends: Ends) -> Ends {
    for pod in 0..3 {
        ends.reaches(pod, &arp(pod, 0));
    }
    ends
}

pub(crate) fn what_policies_allow_arrives_and_ends_with_them(switch: &mut VppSwitch) {
    what_is_allowed_arrives(switch, start(switch));
}

pub(crate) fn by_memif_what_policies_allow_arrives_and_ends_with_them(switch: &mut VppSwitch) {
    by_program(switch, PortKind::MemifVolume);
}

pub(crate) fn by_vhost_user_what_policies_allow_arrives_and_ends_with_them(switch: &mut VppSwitch) {
    by_program(switch, PortKind::VhostUserClient);
}

fn by_program(switch: &VppSwitch, port_kind: PortKind) {
    if Testpmd::is_installed() {
        what_is_allowed_arrives(switch, start_with_program(switch, port_kind));
    }
}

fn what_is_allowed_arrives(switch: &VppSwitch, mut ends: Ends) {
    ends.arrives([C, B], (TCP, 40_000, 80), SYN, true);
    restrict(switch, &from_a(), None, true);
    ends.arrives([A, B], (TCP, 40_000, 80), SYN, true);
    ends.arrives([B, A], (TCP, 80, 40_000), SYN | ACK, true);
    ends.arrives([A, B], (TCP, 40_000, 80), ACK, true);
    ends.arrives([A, B], (UDP, 40_000, 53), 0, true);
    ends.arrives([B, A], (UDP, 53, 40_000), 0, true);
    for (pair, ports, flags) in [
        ([A, B], (TCP, 40_000, 81), SYN),
        ([A, B], (TCP, 40_000, 81), ACK),
        ([A, B], (UDP, 40_000, 54), 0),
        ([C, B], (TCP, 40_000, 80), SYN),
        ([C, B], (TCP, 80, 40_000), SYN | ACK),
        ([C, B], (UDP, 53, 53), 0),
    ] {
        ends.arrives(pair, ports, flags, false);
    }
    // What floods is compared for each port, and what is not IP does not pass.
    let mut to_all = packet([C, B], (TCP, 40_001, 80), SYN);
    to_all[..6].copy_from_slice(&BROADCAST);
    assert_eq!(ends.reaches(C, &to_all), [A].into());
    to_all[..6].copy_from_slice(&[2, 0, 0, 0, 9, 9]);
    assert_eq!(ends.reaches(C, &to_all), [A].into(), "an address that is not known");
    assert_eq!(ends.reaches(C, &of_type(C, [0x88, 0xb5])), [A].into());

    // The other direction is open, with its answers.
    ends.arrives([C, B], (TCP, 90, 40_002), SYN | ACK, false);
    ends.arrives([B, C], (TCP, 40_002, 90), SYN, true);
    ends.arrives([C, B], (TCP, 90, 40_002), SYN | ACK, true);
    ends.arrives([B, C], (UDP, 40_003, 91), 0, true);
    ends.arrives([C, B], (UDP, 91, 40_003), 0, true);
    ends.arrives([C, B], (UDP, 92, 40_003), 0, false);

    // Nothing is allowed any more: what a had ends, and what b has with c goes on.
    let none = RuleSet { ingress: Some(BTreeSet::new()), egress: None };
    restrict(switch, &none, Some(&from_a()), false);
    ends.arrives([B, A], (UDP, 53, 40_000), 0, true);
    ends.arrives([B, A], (TCP, 80, 40_000), ACK, true);
    restrict(switch, &none, None, false);
    ends.arrives([A, B], (UDP, 40_000, 53), 0, false);
    ends.arrives([A, B], (TCP, 40_000, 80), ACK, false);
    ends.arrives([C, B], (TCP, 90, 40_002), ACK, true);
    ends.arrives([C, B], (UDP, 91, 40_003), 0, true);
}

pub(crate) fn what_policies_allow_of_ipv6_arrives_and_ends_with_them(switch: &mut VppSwitch) {
    let mut ends = start(switch);
    ends.arrives_by_ipv6([C, B], (TCP, 40_000, 80), SYN, true);
    let of_a = from("fd09::a/128");
    restrict(switch, &of_a, None, true);
    ends.arrives_by_ipv6([A, B], (TCP, 40_000, 80), SYN, true);
    ends.arrives_by_ipv6([B, A], (TCP, 80, 40_000), SYN | ACK, true);
    ends.arrives_by_ipv6([A, B], (UDP, 40_000, 53), 0, true);
    ends.arrives_by_ipv6([B, A], (UDP, 53, 40_000), 0, true);
    for (pair, ports, flags) in [
        ([A, B], (TCP, 40_000, 81), SYN),
        ([A, B], (UDP, 40_000, 54), 0),
        ([C, B], (TCP, 40_000, 80), SYN),
        ([C, B], (TCP, 80, 40_000), SYN | ACK),
        ([C, B], (UDP, 53, 53), 0),
    ] {
        ends.arrives_by_ipv6(pair, ports, flags, false);
    }
    ends.arrives([A, B], (TCP, 40_000, 80), SYN, false);
    assert_eq!(ends.reaches(C, &solicitation(C, B)), [A, B].into(), "without it no packet finds its receiver");
    ends.arrives_by_ipv6([B, C], (TCP, 40_002, 90), SYN, true);
    ends.arrives_by_ipv6([C, B], (TCP, 90, 40_002), SYN | ACK, true);

    let none = RuleSet { ingress: Some(BTreeSet::new()), egress: None };
    restrict(switch, &none, Some(&of_a), false);
    restrict(switch, &none, None, false);
    ends.arrives_by_ipv6([A, B], (UDP, 40_000, 53), 0, false);
    ends.arrives_by_ipv6([A, B], (TCP, 40_000, 80), ACK, false);
    ends.arrives_by_ipv6([C, B], (TCP, 90, 40_002), ACK, true);
}

pub(crate) fn datagrams_end_with_their_rule_where_both_directions_are_restricted(switch: &mut VppSwitch) {
    let mut ends = start(switch);
    let both = RuleSet { egress: Some(BTreeSet::new()), ..from_a() };
    restrict(switch, &both, None, true);
    ends.arrives([B, C], (UDP, 40_003, 91), 0, false);
    ends.arrives([B, C], (TCP, 40_003, 91), SYN, false);
    ends.arrives([B, A], (UDP, 53, 40_000), 0, false);
    ends.arrives([A, B], (UDP, 40_000, 53), 0, true);
    ends.arrives([B, A], (UDP, 53, 40_000), 0, true);
    ends.arrives([A, B], (TCP, 40_000, 80), SYN, true);
    ends.arrives([B, A], (TCP, 80, 40_000), SYN | ACK, true);
    ends.arrives([B, A], (TCP, 80, 40_001), SYN, false);
    let none = RuleSet { ingress: Some(BTreeSet::new()), egress: Some(BTreeSet::new()) };
    restrict(switch, &none, None, none.outdates_sessions_of(&both));
    // VPP ends the sessions soon after its answer.
    let end = Instant::now() + TIMEOUT;
    while ends.reaches(A, &packet([A, B], (UDP, 40_000, 53), 0)).contains(&B) {
        assert!(Instant::now() < end, "the session is still there");
    }
    ends.arrives([B, A], (UDP, 53, 40_000), 0, false);
    ends.arrives([B, A], (TCP, 80, 40_000), ACK, false);
    ends.arrives([A, B], (TCP, 40_000, 80), ACK, false);
}

/// The sessions of all pods are in one table.
pub(crate) fn when_the_sessions_are_used_up_what_needs_none_passes(switch: &mut VppSwitch) {
    let mut ends = start(switch);
    let restricted = || PortPolicy::Restricted { rules: compile(&from_a(), None), ends_sessions: true };
    let done = keep(switch, &[("c1", PortPolicy::Open), ("c2", restricted()), ("c3", restricted())]);
    assert_eq!(done.problem, None);
    switch.vpp().cli(&format!("set acl-plugin session table max-entries {SESSIONS_MAX}")).expect("a command");
    assert_eq!(sessions(switch), Some(Sessions { count: 0, max: SESSIONS_MAX }));
    // What rules allow adds none, and neither do its answers.
    ends.arrives([A, B], (TCP, 40_000, 80), SYN, true);
    ends.arrives([B, A], (TCP, 80, 40_000), SYN | ACK, true);
    assert_eq!(sessions(switch).map(|now| now.count), Some(0));
    ends.arrives([B, A], (UDP, 40_000, 91), 0, true);
    assert_eq!(sessions(switch).map(|now| now.count), Some(1));
    ends.arrives([C, A], (UDP, 40_000, 91), 0, true);
    // VPP leaves one for its only thread.
    let fit = SESSIONS_MAX - 1;
    for number in 2..fit {
        let port = 40_000 + u16::try_from(number).expect("a port");
        ends.arrives([B, A], (UDP, port, 91), 0, true);
    }
    assert_eq!(sessions(switch), Some(Sessions { count: fit, max: SESSIONS_MAX }));

    ends.arrives([B, A], (UDP, 41_000, 91), 0, false);
    ends.arrives([C, A], (UDP, 41_000, 91), 0, false);
    ends.arrives([C, A], (TCP, 41_000, 91), SYN, false);
    ends.arrives([C, A], (UDP, 40_000, 91), 0, true);
    ends.arrives([A, C], (UDP, 91, 40_000), 0, true);
    for pod in [B, C] {
        ends.arrives([A, pod], (TCP, 41_000, 80), SYN, true);
        ends.arrives([pod, A], (TCP, 80, 41_000), SYN | ACK, true);
    }
    assert_eq!(sessions(switch), Some(Sessions { count: fit, max: SESSIONS_MAX }));
}

pub(crate) fn a_closed_port_gets_and_sends_nothing_but_arp(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &desired(switch, &PODS));
    let mut ends = Ends::new();
    for ports in [(TCP, 40_000, 80), (UDP, 40_000, 53)] {
        for pair in [[A, B], [B, A], [C, B]] {
            ends.arrives(pair, ports, SYN, false);
        }
    }
    assert_eq!(ends.reaches(C, &of_type(C, [0x88, 0xb5])), BTreeSet::new());
}
