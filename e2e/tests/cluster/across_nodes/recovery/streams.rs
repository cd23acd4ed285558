//! Numbered broadcasts of all pods of a segment at a steady rate, and when each arrives where.
//! Threads of this program send and receive, so that all have one clock.

use crate::across_nodes::measure::background::{Background, End};
use crate::across_nodes::segment::BROADCAST;
use crate::support::cluster::{check, eventually};
use crate::support::station::Station;
use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Short enough to see an outage of some 10 ms, and long enough for a switch without a turn.
const INTERVAL: Duration = Duration::from_millis(10);
const PORT: u16 = 7200;

/// The datagrams of one pod that another has received since [`Streams::begin`].
#[derive(Default)]
struct Arrivals {
    numbers: BTreeSet<u64>,
    twice: u64,
    times: Vec<Instant>,
}

/// The sender and the receiver: a pod has another number in each of its lives.
type Pair = (u64, u64);
type Received = Arc<Mutex<BTreeMap<Pair, Arrivals>>>;

/// A pod that sends and receives.
struct Member {
    number: u64,
    station: Station,
    _threads: Background<()>,
}

/// The cost of a fault of a node.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Broadcasts to and from the node that did not arrive.
    pub(super) lost: u64,
    /// The lost datagrams between other nodes.
    pub(super) lost_elsewhere: u64,
    /// Broadcasts that arrived more than once, anywhere, those that came back to their sender
    /// included.
    pub(super) twice: u64,
}

/// The broadcasts of a segment.
pub(super) struct Streams {
    members: Vec<Member>,
    received: Received,
    started: u64,
}

impl Streams {
    /// Starts all, and waits until all arrive at all.
    pub(super) fn start(stations: Vec<Station>) -> Self {
        let mut streams = Self { members: Vec::new(), received: Received::default(), started: 0 };
        let nodes: BTreeSet<String> = stations.iter().map(|station| station.node.clone()).collect();
        stations.into_iter().for_each(|station| streams.add(station));
        let now = Instant::now();
        for node in &nodes {
            streams.await_all_after(now, node);
        }
        streams
    }

    /// Starts that of one more pod.
    pub(super) fn add(&mut self, station: Station) {
        self.started += 1;
        let number = self.started;
        let received = Arc::clone(&self.received);
        let mut threads = Background::new();
        threads.add(&station, move |end| receive(end, number, &received));
        threads.add(&station, move |end| send(end, number));
        self.members.push(Member { number, station, _threads: threads });
    }

    /// Ends those of a node's pods, and gives their names.
    pub(super) fn remove(&mut self, node: &str) -> Vec<String> {
        let gone = self.members.extract_if(.., |member| member.station.node == node);
        gone.map(|member| member.station.name).collect()
    }

    /// Counts from now on.
    pub(super) fn begin(&self) {
        lock(&self.received).clear();
    }

    /// Waits until a broadcast of each pod of the node has arrived at each other pod after that
    /// time, and vice versa, and says when the last pair had its first.
    pub(super) fn await_all_after(&self, time: Instant, node: &str) -> Instant {
        eventually(&format!("broadcasts to and from {node}"), || {
            let received = lock(&self.received);
            let first = |pair: &Pair| received.get(pair)?.times.iter().copied().find(|arrival| *arrival > time);
            let pairs = self.pairs(node);
            let all: Option<Vec<Instant>> = pairs.iter().map(first).collect();
            check(!pairs.is_empty(), "no pairs")?;
            let missing = || pairs.iter().filter(|pair| first(pair).is_none()).map(|pair| self.names(*pair));
            all.and_then(|all| all.into_iter().max()).ok_or_else(|| missing().collect::<Vec<_>>().join(", "))
        })
    }

    /// The pairs of a pod of the node and one of another node, in both directions.
    fn pairs(&self, node: &str) -> Vec<Pair> {
        let is_there = |member: &&Member| member.station.node == node;
        let there = self.members.iter().filter(is_there);
        there
            .flat_map(|near| {
                let others = self.members.iter().filter(move |far| !is_there(far));
                others.flat_map(|far| [(near.number, far.number), (far.number, near.number)])
            })
            .collect()
    }

    fn names(&self, (from, to): Pair) -> String {
        let name = |number| {
            let member = self.members.iter().find(|member| member.number == number);
            member.map_or("a pod of before", |member| member.station.name.as_str())
        };
        format!("{} to {}", name(from), name(to))
    }

    /// Counts what has arrived since [`Self::begin`]. What is missing before the last that arrived
    /// is lost: there is one path.
    pub(super) fn count(&self, node: &str) -> Count {
        let of_node: BTreeSet<Pair> = self.pairs(node).into_iter().collect();
        let alive: BTreeSet<u64> = self.members.iter().map(|member| member.number).collect();
        let mut count = Count::default();
        for (pair, arrivals) in lock(&self.received).iter() {
            count.twice += arrivals.twice;
            let (Some(first), Some(last)) = (arrivals.numbers.first(), arrivals.numbers.last()) else { continue };
            let lost = last - first + 1 - arrivals.numbers.len() as u64;
            let is_of_node = of_node.contains(pair) || !alive.contains(&pair.0) || !alive.contains(&pair.1);
            let lost_where = if is_of_node { &mut count.lost } else { &mut count.lost_elsewhere };
            *lost_where += lost;
        }
        count
    }

    /// Ends all, and gives the pods.
    pub(super) fn end(self) -> Vec<Station> {
        self.members.into_iter().map(|member| member.station).collect()
    }
}

/// A panic in another thread leaves no inconsistent state.
fn lock(received: &Received) -> MutexGuard<'_, BTreeMap<Pair, Arrivals>> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(end: &End, sender: u64) {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    socket.set_broadcast(true).unwrap();
    let started = Instant::now();
    for number in 1_u64.. {
        if end.has_come() {
            return;
        }
        let mut datagram = [0; 16];
        datagram[..8].copy_from_slice(&sender.to_be_bytes());
        datagram[8..].copy_from_slice(&number.to_be_bytes());
        // An interface without its peer refuses; the broadcast counts as sent, and as lost.
        let _refused = socket.send_to(&datagram, (BROADCAST, PORT));
        let due = started + INTERVAL * u32::try_from(number).unwrap();
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn receive(end: &End, receiver: u64, received: &Received) {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut datagram = [0; 16];
    while !end.has_come() {
        if !matches!(socket.recv(&mut datagram), Ok(16)) {
            continue;
        }
        let now = Instant::now();
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
        let (sender, number) = (number(&datagram[..8]), number(&datagram[8..]));
        let mut received = lock(received);
        let arrivals = received.entry((sender, receiver)).or_default();
        arrivals.times.push(now);
        arrivals.twice += u64::from(!arrivals.numbers.insert(number));
    }
}
