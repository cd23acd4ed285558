//! Whether packets of IPv4 are whole.

use std::net::Ipv4Addr;

const IPV4: [u8; 2] = [8, 0];
const VLAN: [u8; 2] = [0x81, 0];
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What is wrong with a frame: it is longer than this, or a packet of IPv4 in it has a wrong
/// checksum or length.
pub(super) fn problem(frame: &[u8], longest: usize) -> Option<String> {
    if frame.len() > longest {
        return Some(format!("a frame of {} bytes", frame.len()));
    }
    let mut rest = frame.get(12..)?;
    if rest.starts_with(&VLAN) {
        rest = rest.get(4..)?;
    }
    if !rest.starts_with(&IPV4) {
        return None;
    }
    let packet = rest.get(2..)?;
    let header = usize::from(packet.first()? & 0xf) * 4;
    let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let [protocol, ends] = [9, 12].map(|at| &packet[at..]);
    let describe = |what: &str| {
        let end = |at: usize| Ipv4Addr::new(ends[at], ends[at + 1], ends[at + 2], ends[at + 3]);
        Some(format!("{what}: protocol {}, {length} bytes, {} to {}", protocol[0], end(0), end(4)))
    };
    let Some(payload) = packet.get(header..length) else { return describe("cut off") };
    if sum(&[&packet[..header]]) != 0xffff {
        return describe("header checksum");
    }
    let place = match protocol[0] {
        TCP => 16,
        UDP if payload.get(6..8) == Some(&[0, 0]) => return None,
        UDP => 6,
        _ => return None,
    };
    if payload.len() < place + 2 {
        return describe("too short");
    }
    let size = u32::try_from(payload.len()).ok()?.to_be_bytes();
    let pseudo = [&ends[..8], &[0, protocol[0]], &size[2..]].concat();
    (sum(&[&pseudo, payload]) != 0xffff).then(|| describe("checksum")).flatten()
}

/// The sum of the Internet (RFC 1071): 0xffff over what includes a right checksum.
fn sum(parts: &[&[u8]]) -> u32 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words.map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}
