//! Frames with right checksums: the switch takes others for packets of no connection.

use std::net::IpAddr;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const ARP: [u8; 2] = [8, 6];
/// SYN, in a header without options; and SYN with ACK.
const SYN: u8 = 2;
const SYN_ACK: u8 = 0x12;

pub(super) const BROADCAST: [u8; 6] = [0xff; 6];

/// Two ends of a connection, from the sender's side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) macs: [[u8; 6]; 2],
    pub(super) addresses: [IpAddr; 2],
}

impl Ends {
    pub(super) fn reversed(self) -> Self {
        let Self { macs: [a, b], addresses: [x, y] } = self;
        Self { macs: [b, a], addresses: [y, x] }
    }

    pub(super) fn to_mac(self, mac: [u8; 6]) -> Self {
        Self { macs: [self.macs[0], mac], ..self }
    }

    /// The first packet of a connection.
    pub(super) fn first(self, protocol: u8, ports: [u16; 2]) -> Vec<u8> {
        self.segment(protocol, ports, SYN)
    }

    /// The answer to the first packet, with the ports of that.
    pub(super) fn answer(self, protocol: u8, [src, dst]: [u16; 2]) -> Vec<u8> {
        self.reversed().segment(protocol, [dst, src], SYN_ACK)
    }

    fn segment(self, protocol: u8, ports: [u16; 2], flags: u8) -> Vec<u8> {
        let ports = ports.map(u16::to_be_bytes).concat();
        match protocol {
            TCP => self.packet(TCP, &[&ports[..], &[0; 8], &[0x50, flags, 0x20, 0, 0, 0, 0, 0]].concat(), 16),
            _ => self.packet(UDP, &[&ports[..], &[0, 12, 0, 0], b"udp."].concat(), 6),
        }
    }

    /// An echo request, or its reply.
    pub(super) fn echo(self, id: u16, is_reply: bool) -> Vec<u8> {
        let (protocol, types) = if self.addresses[0].is_ipv4() { (ICMP, [8, 0]) } else { (ICMPV6, [128, 129]) };
        let kind = types[usize::from(is_reply)];
        self.packet(protocol, &[&[kind, 0, 0, 0], &id.to_be_bytes()[..], &[0, 1], b"echo"].concat(), 2)
    }

    /// The first or the second fragment of a packet of UDP.
    pub(super) fn fragment(self, is_first: bool, ports: [u16; 2]) -> Vec<u8> {
        let payload = [ports.map(u16::to_be_bytes).concat(), vec![0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        // In units of 8 bytes, and whether more follow.
        let offset: [u8; 2] = if is_first { [0x20, 0] } else { [0, 2] };
        match self.addresses {
            [IpAddr::V4(_), _] => self.ipv4(UDP, offset, &payload),
            _ => {
                let offset = if is_first { [0, 1] } else { [0, 0x10] };
                self.ipv6(44, &[&[UDP, 0][..], &offset, &[0, 0, 0, 7], &payload].concat())
            }
        }
    }

    /// A packet whose payload has its checksum here.
    fn packet(self, protocol: u8, payload: &[u8], place: usize) -> Vec<u8> {
        let pseudo = match self.addresses {
            [IpAddr::V4(_), _] if protocol == ICMP => Vec::new(),
            _ => {
                let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
                [self.octets(), length.to_vec(), vec![0, 0, 0, protocol]].concat()
            }
        };
        let mut payload = payload.to_vec();
        let sum = checksum(&[pseudo, payload.clone()].concat());
        payload[place..place + 2].copy_from_slice(&sum);
        match self.addresses {
            [IpAddr::V4(_), _] => self.ipv4(protocol, [0, 0], &payload),
            _ => self.ipv6(protocol, &payload),
        }
    }

    fn octets(self) -> Vec<u8> {
        let octets = |ip| match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        self.addresses.map(octets).concat()
    }

    fn ipv4(self, protocol: u8, offset: [u8; 2], payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(20 + payload.len()).expect("short").to_be_bytes();
        let head = [&[0x45, 0], &length[..], &[0, 7], &offset, &[64, protocol, 0, 0]].concat();
        let mut head = [head, self.octets()].concat();
        let sum = checksum(&head);
        head[10..12].copy_from_slice(&sum);
        self.frame([8, 0], &[&head, payload].concat())
    }

    fn ipv6(self, next: u8, payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(payload.len()).expect("short").to_be_bytes();
        let head = [&[0x60, 0, 0, 0], &length[..], &[next, 64]].concat();
        self.frame([0x86, 0xdd], &[head, self.octets(), payload.to_vec()].concat())
    }

    pub(super) fn frame(self, ethertype: [u8; 2], payload: &[u8]) -> Vec<u8> {
        let [src, dst] = self.macs;
        let mut frame = [&dst[..], &src, &ethertype, payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// A request of ARP of the sender, with a number by which it is found again.
    pub(super) fn arp(self, number: u32) -> Vec<u8> {
        let [src, _] = self.macs;
        let IpAddr::V4(ip) = self.addresses[0] else { panic!("IPv4") };
        let request = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &src, &ip.octets(), &[0; 6], &number.to_be_bytes()].concat();
        self.frame(ARP, &request)
    }
}

/// The checksum of the Internet (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).expect("16 bits")).to_be_bytes()
}
