//! Records the frames that reach a station, before its kernel handles them.

use super::background::{Background, End};
use crate::support::cluster::{nodes, on_node};
use crate::support::station::Station;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt::ReceiveTimeout,
};
use nix::sys::time::TimeVal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;

type Mac = [u8; 6];

/// The frames that a station has received.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The number of all frames.
    pub(crate) frames: u64,
    /// The number of frames to the MAC address of a NIC of any node.
    pub(crate) of_nodes: u64,
    /// The length of the largest IPv4 packet that must not be fragmented.
    pub(crate) largest: usize,
}

/// Packet sockets in the network namespaces of stations.
pub(crate) struct Frames(Background<Seen>);

impl Frames {
    pub(crate) fn watch(stations: &[&Station]) -> Self {
        let nics = nics_of_nodes();
        let mut threads = Background::new();
        for station in stations {
            let nics = nics.clone();
            threads.add(station, move |end| watch(end, &nics));
        }
        Self(threads)
    }

    /// The counts by the name of the station.
    pub(crate) fn end(self) -> Vec<(String, Seen)> {
        self.0.end()
    }
}

fn watch(end: &End, nics: &BTreeSet<Mac>) -> Seen {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    setsockopt(&socket, ReceiveTimeout, &TimeVal::new(0, 100_000)).unwrap();
    let (mut seen, mut frame) = (Seen::default(), vec![0; 1 << 16]);
    while !end.has_come() {
        let length = match recv(socket.as_raw_fd(), &mut frame, MsgFlags::empty()) {
            Ok(length) => length,
            Err(Errno::EAGAIN | Errno::EINTR) => continue,
            Err(error) => panic!("packet socket: {error}"),
        };
        seen.add(&frame[..length], nics);
    }
    seen
}

impl Seen {
    fn add(&mut self, frame: &[u8], nics: &BTreeSet<Mac>) {
        const IPV4: [u8; 2] = [0x08, 0x00];
        const DO_NOT_FRAGMENT: u8 = 0x40;
        let Some((to, rest)) = frame.split_first_chunk::<6>() else { return };
        self.frames += 1;
        self.of_nodes += u64::from(nics.contains(to));
        let packet = rest.get(8..).unwrap_or_default();
        if rest.get(6..8) == Some(&IPV4) && packet.len() >= 20 && packet[6] & DO_NOT_FRAGMENT != 0 {
            self.largest = self.largest.max(usize::from(u16::from_be_bytes([packet[2], packet[3]])));
        }
    }
}

/// The MAC addresses of the NICs of all nodes.
fn nics_of_nodes() -> BTreeSet<Mac> {
    let mut found = BTreeSet::new();
    for node in nodes() {
        let links: Value = serde_json::from_str(&on_node(node, &["ip", "-j", "link"])).unwrap();
        for link in links.as_array().unwrap() {
            if ["eth0", "eth1"].contains(&link["ifname"].as_str().unwrap()) {
                found.insert(mac(link["address"].as_str().unwrap()));
            }
        }
    }
    assert_eq!(found.len(), 2 * nodes().len());
    found
}

fn mac(text: &str) -> Mac {
    let bytes: Vec<u8> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    bytes.try_into().unwrap()
}
