//! ARP, neighbour discovery and echo requests, implemented by smoltcp.

use crate::interface::Interface as Description;
use ipnet::IpNet;
use smoltcp::iface::{Config, Interface, Route, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::icmp;
use smoltcp::time::Instant;
use smoltcp::wire::{
    EthernetAddress, HardwareAddress, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpAddress, IpCidr,
};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::SystemTime;

/// The most replies that wait to be read.
const REPLIES: usize = 64;
const REPLY_BYTES: usize = 64 << 10;
const ETHERNET: usize = 14;

/// A network stack whose frames are passed in and taken out by its caller.
pub(crate) struct Stack {
    interface: Interface,
    frames: Frames,
    sockets: SocketSet<'static>,
    echo: SocketHandle,
    identifier: u16,
}

impl Stack {
    pub(crate) fn new(description: &Description) -> Self {
        let (medium, hardware, header) = if description.is_ip() {
            (Medium::Ip, HardwareAddress::Ip, 0)
        } else {
            (Medium::Ethernet, HardwareAddress::Ethernet(EthernetAddress(description.mac)), ETHERNET)
        };
        let mut frames = Frames { medium, mtu: description.mtu + header, ..Frames::default() };
        let mut config = Config::new(hardware);
        config.random_seed = seed();
        let mut interface = Interface::new(config, &mut frames, Instant::now());
        // smoltcp has room for eight addresses and eight routes. Others are left out.
        interface.update_ip_addrs(|all| {
            for address in &description.addresses {
                let _no_room = all.push(cidr(address));
            }
            if !description.is_ip() {
                let _no_room = all.push(link_local(description.mac));
            }
        });
        interface.routes_mut().update(|all| {
            for (destination, gateway) in &description.routes {
                let route = Route {
                    cidr: cidr(destination),
                    via_router: (*gateway).into(),
                    preferred_until: None,
                    expires_at: None,
                };
                let _no_room = all.push(route);
            }
        });
        let buffer = || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; REPLIES], vec![0; REPLY_BYTES]);
        let mut socket = icmp::Socket::new(buffer(), buffer());
        let identifier = (seed() & 0xffff) as u16;
        // A new socket can be bound to any identifier.
        let _bound = socket.bind(icmp::Endpoint::Ident(identifier));
        let mut sockets = SocketSet::new(Vec::new());
        let echo = sockets.add(socket);
        Self { interface, frames, sockets, echo, identifier }
    }

    pub(crate) fn receive(&mut self, frame: Vec<u8>) {
        self.frames.received.push_back(frame);
    }

    /// Handles all received frames, and returns the frames to send.
    pub(crate) fn work(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.interface.poll(Instant::now(), &mut self.frames, &mut self.sockets);
        self.frames.received.clear();
        self.frames.sent.drain(..)
    }

    /// Queues an echo request. Returns false while there is no room for it.
    pub(crate) fn request_echo(&mut self, address: IpAddr, sequence: u16, payload: &[u8]) -> bool {
        let (checksums, ident, seq_no) = (ChecksumCapabilities::default(), self.identifier, sequence);
        let to = IpAddress::from(address);
        let from = match to {
            IpAddress::Ipv6(to) => Some(self.interface.get_source_address_ipv6(&to)),
            IpAddress::Ipv4(_) => None,
        };
        let socket = self.sockets.get_mut::<icmp::Socket<'_>>(self.echo);
        match (to, from) {
            (IpAddress::Ipv6(address), Some(from)) => {
                let request = Icmpv6Repr::EchoRequest { ident, seq_no, data: payload };
                let Ok(bytes) = socket.send(request.buffer_len(), to) else { return false };
                request.emit(&from, &address, &mut Icmpv6Packet::new_unchecked(bytes), &checksums);
            }
            _ => {
                let request = Icmpv4Repr::EchoRequest { ident, seq_no, data: payload };
                let Ok(bytes) = socket.send(request.buffer_len(), to) else { return false };
                request.emit(&mut Icmpv4Packet::new_unchecked(bytes), &checksums);
            }
        }
        true
    }

    /// Returns the sequence number of the next reply from an address.
    pub(crate) fn take_reply(&mut self, address: IpAddr) -> Option<u16> {
        let checksums = ChecksumCapabilities::default();
        let socket = self.sockets.get_mut::<icmp::Socket<'_>>(self.echo);
        while socket.can_recv() {
            let Ok((bytes, from)) = socket.recv() else { continue };
            if from != IpAddress::from(address) {
                continue;
            }
            let sequence =
                match from {
                    IpAddress::Ipv4(_) => Icmpv4Packet::new_checked(bytes).ok().and_then(|packet| {
                        match Icmpv4Repr::parse(&packet, &checksums) {
                            Ok(Icmpv4Repr::EchoReply { seq_no, .. }) => Some(seq_no),
                            _ => None,
                        }
                    }),
                    // smoltcp checked the packet before it put it into the socket's buffer.
                    IpAddress::Ipv6(_) => Icmpv6Packet::new_checked(bytes)
                        .ok()
                        .filter(|packet| packet.msg_type() == smoltcp::wire::Icmpv6Message::EchoReply)
                        .map(|packet| packet.echo_seq_no()),
                };
            if sequence.is_some() {
                return sequence;
            }
        }
        None
    }
}

fn cidr(network: &IpNet) -> IpCidr {
    IpCidr::new(IpAddress::from(network.addr()), network.prefix_len())
}

/// Returns the IPv6 address that every interface derives from its MAC address (RFC 4291).
fn link_local([a, b, c, d, e, f]: [u8; 6]) -> IpCidr {
    let pair = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    let address = std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, pair(a ^ 2, b), pair(c, 0xff), pair(0xfe, d), pair(e, f));
    IpCidr::new(IpAddress::Ipv6(address), 64)
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64
}

/// The frames between the stack and its caller.
struct Frames {
    received: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    medium: Medium,
    mtu: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { received: VecDeque::new(), sent: VecDeque::new(), medium: Medium::Ethernet, mtu: 1514 }
    }
}

impl Device for Frames {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        let frame = self.received.pop_front()?;
        Some((Received(frame), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = self.medium;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, work: F) -> R {
        work(&self.0)
    }
}

struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let result = write(&mut frame);
        self.0.push_back(frame);
        result
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;
    use crate::interface::End;

    fn stack(mac: u8, addresses: &[&str]) -> Stack {
        Stack::new(&Description {
            name: "net1".to_owned(),
            network: None,
            mac: [2, 0, 0, 0, 0, mac],
            mtu: 1500,
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            routes: Vec::new(),
            end: End::Device,
        })
    }

    /// Passes frames between two stacks for a few rounds, enough for an exchange of echoes.
    fn exchange(a: &mut Stack, b: &mut Stack) {
        for _ in 0..8 {
            a.work().for_each(|frame| b.receive(frame));
            b.work().for_each(|frame| a.receive(frame));
        }
    }

    #[test]
    fn echo_requests_of_both_families_are_answered() {
        for (sequence, address) in [(1, "10.1.0.2"), (2, "fd00::2"), (3, "fe80::ff:fe00:2")] {
            // A new stack for each address: smoltcp discovers one neighbour a second.
            let mut a = stack(1, &["10.1.0.1/24", "fd00::1/64"]);
            let mut b = stack(2, &["10.1.0.2/24", "fd00::2/64"]);
            let address: IpAddr = address.parse().unwrap();
            assert!(a.request_echo(address, sequence, &[1; 40]));
            exchange(&mut a, &mut b);
            assert_eq!(a.take_reply(address), Some(sequence), "{address}");
        }
        let mut a = stack(1, &["10.1.0.1/24"]);
        let mut b = stack(2, &["10.1.0.2/24"]);
        let absent: IpAddr = "10.1.0.3".parse().unwrap();
        assert!(a.request_echo(absent, 3, &[1; 40]));
        exchange(&mut a, &mut b);
        assert_eq!(a.take_reply(absent), None);
    }

    #[test]
    fn malformed_frames_are_left_out() {
        let mut stack = stack(1, &["10.1.0.1/24"]);
        for length in 0..200 {
            stack.receive(vec![0xff; length]);
            let mut frame = vec![0; length];
            frame.iter_mut().zip([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45]).for_each(|(to, from)| *to = from);
            stack.receive(frame);
        }
        assert_eq!(stack.work().count(), 0);
    }
}
