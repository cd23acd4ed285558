//! Malformed bytes of a switch for the decoders: no panic, and no more memory than the input
//! allows.
//!
//! See the crate `usnet-test-fuzz` for the long form.

use usnet_openflow::flow::{Match, Payload};
use usnet_openflow::forwarding::{Flooding, answer};
use usnet_openflow::messages::{InstalledFlow, InstalledGroup, Part, PortDescription, offers_1_4};
use usnet_openflow::wire::{ERROR, Endpoint, HELLO, Malformed, Message, Refusal};
use usnet_openflow::{FragmentMode, PortNumber};
use usnet_test_fuzz::{FuzzRun, Parsed, Random};
use usnet_transport::Protocol;

/// Inputs of the short form: enough to make each kind of change to each seed many times, in about a
/// second.
const INPUTS: u64 = 100_000;
/// The limit of the decoders' memory for each byte of input: a flow is described by 56 bytes at
/// least, and takes 120 in memory, and vectors grow by doubling.
const BYTES_PER_BYTE: usize = 8;
/// The limit of the decoders' memory for any input.
const BYTES_AT_LEAST: usize = 4 << 10;

const GET_CONFIG_REPLY: u8 = 8;
const MULTIPART_REPLY: u8 = 19;
const STATS_REPLY: u8 = 17;
const FLOWS: u16 = 1;
const GROUPS: u16 = 7;
const PORTS: u16 = 13;

fn message(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message::encode(version, kind, 7, body, &mut bytes);
    bytes
}

fn flow(instructions: &[u8]) -> Vec<u8> {
    let matches = Match { in_port: PortNumber::new(7), payload: Payload::EtherType(0x0806), ..Match::default() };
    let oxm = matches.encode();
    let mut head = [&[0, 0, 3, 0][..], &[0; 8], &[0, 10], &[0; 10]].concat();
    head.extend([9, 7, 420_u64].map(u64::to_be_bytes).concat());
    let match_length = u16::try_from(4 + oxm.bytes().len()).expect("short");
    head.extend([[0, 1], match_length.to_be_bytes()].concat());
    head.extend(oxm.bytes());
    head.resize(head.len().next_multiple_of(8), 0);
    head.extend(instructions);
    let length = u16::try_from(head.len()).expect("short").to_be_bytes();
    head.splice(..2, length);
    head
}

/// Messages of a switch: a hello, an error, ports and flows in both versions, groups.
fn seeds() -> Vec<Vec<u8>> {
    let output = [0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfa, 0, 0, 0, 0, 0, 0, 0, 0];
    let flows = [&[0, 1, 0, 0, 0, 0, 0, 0], &flow(&output)[..], &flow(&[]), &flow(&[0, 1, 0, 8, 3, 0, 0, 0])].concat();
    let name = b"port\0\0\0\0\0\0\0\0\0\0\0\0";
    let port = [&[0, 0, 0, 7, 0, 72, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0], &name[..], &[0; 40]].concat();
    let local = [&[0xff, 0xff, 0xff, 0xfe, 0, 72, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0], &name[..], &[0; 40]].concat();
    let ports = [&[0, 13, 0, 1, 0, 0, 0, 0], &port[..], &local].concat();
    let old_port = [&[0, 7, 2, 0, 0, 0, 0, 1], &name[..], &[0; 24]].concat();
    let old_ports = [&[0, 13, 0, 0], &old_port[..], &old_port].concat();
    let bucket = [&[0, 24, 0, 0][..], &[0xff; 8], &[0; 4], &[0, 22, 0, 8, 0, 0, 0, 7]].concat();
    let groups = [&[0, 7, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 1, 2][..], &bucket].concat();
    let nicira = [0xff, 0xff, 0, 0, 0, 0, 0x23, 0x20, 0, 0, 0, 0, 0, 0, 0, 0];
    let old_flow = [&[0, 56, 0, 0][..], &[0; 44], &[0, 0, 0, 8, 0xff, 0xfa, 0, 0]].concat();
    vec![
        message(6, HELLO, &[0, 1, 0, 8, 0, 0, 0, 0x7e]),
        message(6, HELLO, &[0, 9, 0, 5, 1, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0x7e]),
        message(5, GET_CONFIG_REPLY, &[0, 3, 0, 0]),
        message(5, ERROR, &[0, 4, 0, 9, 5, 14, 0, 8]),
        message(5, MULTIPART_REPLY, &flows),
        message(5, MULTIPART_REPLY, &ports),
        message(5, MULTIPART_REPLY, &groups),
        message(1, STATS_REPLY, &old_ports),
        message(1, STATS_REPLY, &[&nicira[..], &old_flow].concat()),
        message(1, STATS_REPLY, &[&nicira[..], &[0; 24]].concat()),
    ]
}

/// Bytes that are lengths and types elsewhere.
const BYTES: &[u8] = &[0, 1, 4, 7, 8, 13, 16, 24, 0x7f, 0x80, 0xff];

fn malform(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(seeds).clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(at..at, [random.byte()])),
            2 | 3 => {
                let byte = if random.below(2) == 0 { random.byte() } else { *random.pick(BYTES) };
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte);
            }
            4 => {
                // A part of the message is repeated, so that whole structures get to other places.
                let end = bytes.len().min(at + random.below(80));
                let part: Vec<u8> = bytes.get(at..end).unwrap_or_default().to_vec();
                let to = random.below(bytes.len());
                drop(bytes.splice(to..to, part));
            }
            _ => bytes.extend(random.pick(seeds)),
        }
    }
    // Often the header has the right length, so that the content is read.
    if random.below(4) != 0
        && let Ok(length) = u16::try_from(bytes.len())
    {
        bytes.iter_mut().skip(2).zip(length.to_be_bytes()).for_each(|(old, byte)| *old = byte);
    }
    bytes
}

fn input(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.below(100) == 0 {
        (0..random.below(256)).map(|_| random.byte()).collect()
    } else {
        malform(random, seeds)
    }
}

/// Decodes a message as the connections do. Whether all of it is well formed.
fn decode_message(message: &Message) -> Result<bool, Malformed> {
    match (message.version, message.kind) {
        (_, HELLO) => offers_1_4(message),
        (_, ERROR) => Refusal::decode(&message.body).map(|_| true),
        (_, GET_CONFIG_REPLY) => FragmentMode::decode(&message.body).map(|_| true),
        (1, _) => Ok(decode_1_0(&message.body).is_some()),
        _ => {
            let flows = Part::decode(&message.body, FLOWS).and_then(|part| InstalledFlow::decode_all(part.content));
            let ports = Part::decode(&message.body, PORTS).and_then(|part| PortDescription::decode_all(part.content));
            let groups = Part::decode(&message.body, GROUPS).and_then(|part| InstalledGroup::decode_all(part.content));
            Ok(flows.is_ok() || ports.is_ok() || groups.is_ok())
        }
    }
}

fn decode_1_0(body: &[u8]) -> Option<()> {
    let (kind, _has_more, rest) = answer::stats(body)?;
    let ports = answer::ports(kind, rest).map(|ports| ports.iter().all(|port| port.is_open(Flooding::ToAll)));
    let nicira = answer::of_nicira(kind, rest);
    let count = nicira.and_then(answer::count);
    let flow = nicira.and_then(answer::is_normal_flow);
    (ports.is_some() || count.is_some() || flow.is_some()).then_some(())
}

/// Handles bytes as a connection does. Whether some message of them was well formed.
fn decode(bytes: &[u8], pieces: usize) -> bool {
    let mut endpoint = Endpoint::default();
    let mut accepted = false;
    for piece in bytes.chunks(pieces) {
        endpoint.receive(piece);
        while let Ok(Some(message)) = endpoint.next_message() {
            accepted |= decode_message(&message).unwrap_or(false);
        }
    }
    accepted
}

#[test]
fn malformed_messages_neither_panic_nor_allocate_much() {
    let seeds = seeds();
    assert!(seeds.iter().all(|seed| decode(seed, seed.len())), "a seed is malformed");
    let mut lengths = Random::new(0);
    FuzzRun::new("OpenFlow", INPUTS).run(
        |random| input(random, &seeds),
        |bytes| {
            // The pieces have any length, as if they came from a socket.
            let pieces = 1 + lengths.below(bytes.len());
            let mut accepted = false;
            // Only this test's thread is measured.
            let memory = allocation_counter::measure(|| accepted = decode(bytes, pieces));
            let (used, length) = (memory.bytes_max, bytes.len());
            let limit = BYTES_AT_LEAST + BYTES_PER_BYTE * length;
            assert!(used <= u64::try_from(limit).expect("64 bits"), "{used} bytes for {length} of input");
            if accepted { Parsed::Accepted } else { Parsed::Rejected }
        },
    );
}
