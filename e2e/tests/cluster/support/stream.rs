//! Numbered datagrams from one pod to another at a steady rate, counted exactly.
//!
//! Sender and receiver are threads of this program, so that both have one clock.

use crate::support::cluster::{PATIENCE, check, eventually};
use crate::support::station::Station;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Slow enough that a switch that gets no turn for a second loses nothing: the kernel keeps more
/// than 200 datagrams for it. Fast enough to see an outage of 10 ms.
const INTERVAL: Duration = Duration::from_millis(5);
const PORT: u16 = 7000;

/// What was counted of one kind of traffic.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sample {
    /// Datagrams sent, or packets received where the sender does not count.
    pub(crate) packets: u64,
    /// How many of them never arrived, where that is known.
    pub(crate) lost: Option<u64>,
    /// How many arrived more than once.
    pub(crate) duplicates: u64,
    /// The longest time without an arrival.
    pub(crate) gap: Duration,
}

/// A stream between two pods. Dropping it ends it.
pub(crate) struct Stream {
    /// The engine that it passes.
    pub(crate) engine: &'static str,
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    is_over: AtomicBool,
    sent: AtomicU64,
    arrivals: Mutex<Arrivals>,
}

impl State {
    /// A panic in another thread leaves no half-made state here.
    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What arrived since the last [`Stream::begin`].
#[derive(Default)]
struct Arrivals {
    numbers: BTreeSet<u64>,
    duplicates: u64,
    last: Option<Instant>,
    longest_gap: Duration,
}

impl Stream {
    /// Starts a stream between pods.
    pub(crate) fn start(engine: &'static str, from: &Station, to: &Station) -> Self {
        let state = Arc::new(State::default());
        let [sending, receiving] = [0, 1].map(|_| Arc::clone(&state));
        let receiver = to.run(move || receive(&receiving));
        let target = to.address.clone();
        let sender = from.run(move || send(&sending, &target));
        let stream = Self { engine, state, threads: vec![receiver, sender] };
        stream.await_arrival_after(Instant::now());
        stream
    }

    /// Begins an interval, and gives the number of its first datagram.
    pub(crate) fn begin(&self) -> u64 {
        let mut arrivals = self.state.arrivals();
        let last = arrivals.last;
        *arrivals = Arrivals { last, ..Arrivals::default() };
        // The one that is under way belongs to neither interval.
        self.state.sent.load(Ordering::SeqCst) + 1
    }

    /// Waits until the stream flows, and counts the interval that began with that datagram.
    pub(crate) fn end(&self, first: u64) -> Sample {
        let next = self.state.sent.load(Ordering::SeqCst);
        // What was sent before one that has arrived has arrived or is lost: there is one path.
        eventually("a datagram of the stream", || {
            let last = self.state.arrivals().numbers.last().copied();
            check(last.is_some_and(|last| last >= next), format!("{}: the last is {last:?} of {next}", self.engine))
        });
        // A stream that was started again since counts from its beginning.
        let first = if first > next { 1 } else { first };
        let arrivals = self.state.arrivals();
        let arrived = arrivals.numbers.range(first..next).count() as u64;
        let sent = next.saturating_sub(first);
        let Arrivals { duplicates, longest_gap, .. } = *arrivals;
        Sample { packets: sent, lost: Some(sent - arrived), duplicates, gap: longest_gap }
    }

    /// Waits until so many datagrams of the interval that began with that one were sent.
    pub(crate) fn await_sent(&self, first: u64, count: u64) {
        eventually("datagrams of the stream", || {
            let next = self.state.sent.load(Ordering::SeqCst);
            check(next >= first + count, format!("{}: {} of {count} sent", self.engine, next.saturating_sub(first)))
        });
    }

    /// Waits for a datagram after that time, and gives the time of its arrival.
    pub(crate) fn await_arrival_after(&self, time: Instant) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(last) = self.state.arrivals().last.filter(|last| *last > time) {
                return last;
            }
            assert!(Instant::now() < deadline, "{}: no datagram for {:?}", self.engine, time.elapsed());
            thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed why.
            drop(thread.join());
        }
    }
}

fn send(state: &State, address: &str) {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    let started = Instant::now();
    for number in 1_u64.. {
        if state.is_over.load(Ordering::SeqCst) {
            return;
        }
        // An interface without its peer refuses; the datagram counts as sent, and as lost.
        let _refused = socket.send_to(&number.to_be_bytes(), (address, PORT));
        state.sent.store(number, Ordering::SeqCst);
        let due = started + INTERVAL * u32::try_from(number).unwrap();
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn receive(state: &State) {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut datagram = [0; 8];
    while !state.is_over.load(Ordering::SeqCst) {
        if !matches!(socket.recv(&mut datagram), Ok(8)) {
            continue;
        }
        let now = Instant::now();
        let mut arrivals = state.arrivals();
        let gap = arrivals.last.map_or(Duration::ZERO, |last| now - last);
        arrivals.longest_gap = arrivals.longest_gap.max(gap);
        arrivals.last = Some(now);
        let is_new = arrivals.numbers.insert(u64::from_be_bytes(datagram));
        arrivals.duplicates += u64::from(!is_new);
    }
}
