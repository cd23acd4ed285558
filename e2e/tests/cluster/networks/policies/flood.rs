//! A pod that sends packets all the while that no pod may get.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::connections::{Host, UDP};
use crate::support::pods::in_pod;
use crate::support::scene::Scene;
use crate::support::station::Station;
use usnet_test_abuse::{Frame, send};

/// What its datagrams contain.
pub(super) const TEXT: &str = "flood";

/// A thread in the sender's pod. It does not ask for the receiver's MAC address, so it sends before
/// that exists.
pub(super) struct Flood {
    has_ended: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Flood {
    pub(super) fn start(scene: &Scene, from: Host, to: Host) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&has_ended);
        let frames = [Frame { name: "UDP over IPv4".to_owned(), bytes: datagram(from, to) }];
        let thread = Station::of_pod(scene, from.name).run(move || {
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) {
                send(None, "net1", &frames).unwrap();
                sent += frames.len();
                // The rest of the node needs its cores.
                thread::sleep(Duration::from_millis(2));
            }
            sent
        });
        Self { has_ended, thread }
    }

    /// Returns the number of packets that were sent.
    pub(super) fn end(self) -> usize {
        self.has_ended.store(true, Ordering::Relaxed);
        let sent = self.thread.join().unwrap();
        assert!(sent > 0);
        sent
    }
}

/// A frame with a datagram over IPv4, without the checksum of UDP, which may be left out.
fn datagram(from: Host, to: Host) -> Vec<u8> {
    let [source, destination] = [from, to].map(|host| [10, 9, 0, host.number]);
    let length = |header: usize| u16::try_from(header + TEXT.len()).unwrap().to_be_bytes();
    let mut ip = [&[0x45, 0][..], &length(28), &[0, 0, 0, 0, 64, 17, 0, 0], &source, &destination].concat();
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!u16::try_from(folded).unwrap()).to_be_bytes());
    let port = UDP.to_be_bytes();
    let udp = [&port[..], &port, &length(8), &[0, 0], TEXT.as_bytes()].concat();
    [&to.mac()[..], &from.mac(), &[8, 0], &ip, &udp].concat()
}

/// The datagrams for ports that were not open in a pod.
pub(super) fn unexpected(scene: &Scene, host: Host) -> u64 {
    let lines = in_pod(scene, host.name, "busybox grep ^Udp: /proc/net/snmp");
    let mut lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.iter().position(|name| *name == "NoPorts").unwrap();
    values[place].parse().unwrap()
}
