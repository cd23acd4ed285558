//! Numbered datagrams, counted exactly: a ping cannot tell one copy from two, nor from the
//! thousands of a loop.

use crate::support::cluster::{check, eventually};
use crate::support::station::Station;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Broadcasts of one count.
pub(crate) const BROADCASTS: u64 = 200;
/// Between two of them. A switch that gets no turn for a moment loses none.
const INTERVAL: Duration = Duration::from_millis(2);
/// How long a pod still listens after the last one: two paths between two bridges made thousands of
/// copies within a second.
const LOOP_TIME: Duration = Duration::from_millis(500);
const PORT: u16 = 7100;

/// The broadcasts of another pod that a pod received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// Different ones.
    pub(crate) unique: u64,
    /// All, copies included.
    pub(crate) total: u64,
}

/// Each broadcast once.
pub(crate) const ALL_ONCE: Count = Count { unique: BROADCASTS, total: BROADCASTS };
/// Nothing.
pub(crate) const NONE: Count = Count { unique: 0, total: 0 };

/// One pod sends broadcasts, and all others count what arrives. The sender counts as well: its own
/// kernel gives it each broadcast once, and what comes back from the network is more than that.
pub(crate) fn broadcast(sender: &Station, to: Ipv4Addr, stations: &[&Station]) -> Vec<(String, Count)> {
    let listeners: Vec<_> = stations.iter().map(|station| (*station, socket(station, PORT))).collect();
    let source = socket(sender, 0);
    source.set_broadcast(true).unwrap();
    let sending = thread::spawn(move || {
        for number in 0..BROADCASTS {
            source.send_to(&number.to_be_bytes(), (to, PORT)).unwrap();
            thread::sleep(INTERVAL);
        }
    });
    let counting: Vec<_> = listeners
        .into_iter()
        .map(|(station, socket)| (station.name.clone(), thread::spawn(move || count(&socket))))
        .collect();
    sending.join().unwrap();
    counting.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect()
}

/// A socket of the pod.
fn socket(station: &Station, port: u16) -> UdpSocket {
    station.run(move || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap()).join().unwrap()
}

/// Counts until nothing has arrived for a while, which begins with the first wait for it.
fn count(socket: &UdpSocket) -> Count {
    // Longer than all intervals together, so that a pod that receives nothing has been listening.
    let first = INTERVAL * u32::try_from(BROADCASTS).unwrap() * 4 + LOOP_TIME;
    socket.set_read_timeout(Some(first)).unwrap();
    let (mut numbers, mut total) = (BTreeSet::new(), 0);
    let mut datagram = [0; 8];
    while matches!(socket.recv(&mut datagram), Ok(8)) {
        socket.set_read_timeout(Some(LOOP_TIME)).unwrap();
        numbers.insert(u64::from_be_bytes(datagram));
        total += 1;
    }
    Count { unique: numbers.len() as u64, total }
}

/// Waits until a datagram of that many bytes goes from one pod to the other.
pub(crate) fn await_datagram(from: &Station, to: &Station, bytes: usize) {
    let (sender, receiver) = (socket(from, 0), socket(to, PORT + 1));
    receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let sent = vec![7; bytes];
    let mut received = vec![0; bytes + 1];
    let what = format!("{bytes} bytes from {} on {} to {} on {}", from.name, from.node, to.name, to.node);
    eventually(&what, || {
        sender.send_to(&sent, (to.address.as_str(), PORT + 1)).map_err(|error| error.to_string())?;
        let length = receiver.recv(&mut received).map_err(|error| error.to_string())?;
        check(length == bytes, format!("{length} bytes"))
    });
}

/// Returns the time until a datagram arrives from one pod at the other.
pub(crate) fn until_traffic(from: &Station, to: &Station) -> Duration {
    let (sender, receiver) = (socket(from, 0), socket(to, PORT + 2));
    receiver.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let start = Instant::now();
    eventually(&format!("datagrams from {} to {}", from.name, to.name), || {
        for _ in 0..50 {
            // There may be no route or neighbour at the moment.
            let _sent = sender.send_to(&[7], (to.address.as_str(), PORT + 2));
            if receiver.recv(&mut [0]).is_ok() {
                return Ok(start.elapsed());
            }
        }
        Err("none within a second".to_owned())
    })
}
