//! Numbered datagrams from one pod to another at a steady rate, counted exactly.
//!
//! Sender and receiver are threads of this program with the same clock.

use crate::support::cluster::{TIMEOUT, check, eventually};
use crate::support::station::Station;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval between datagrams. It is long enough that a switch that does not run for a second
/// loses nothing, because the kernel queues more than 200 datagrams, and short enough to detect an
/// outage of 10 ms.
const INTERVAL: Duration = Duration::from_millis(5);
const PORT: u16 = 7000;

/// The counts of one kind of traffic.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sample {
    /// The number of datagrams sent, or of packets received if the sender does not count.
    pub(crate) packets: u64,
    /// The number of packets that did not arrive, if known.
    pub(crate) lost: Option<u64>,
    /// The number of packets that arrived more than once.
    pub(crate) duplicates: u64,
    /// The longest time without an arrival.
    pub(crate) gap: Duration,
}

/// A stream between two pods, which ends when this is dropped.
pub(crate) struct Stream {
    /// The engine that forwards the stream.
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
    /// Locks the arrivals. A panic in another thread leaves no inconsistent state.
    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The arrivals since the last [`Stream::begin`].
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

    /// Starts an interval, and returns the number of its first datagram.
    pub(crate) fn begin(&self) -> u64 {
        let mut arrivals = self.state.arrivals();
        let last = arrivals.last;
        *arrivals = Arrivals { last, ..Arrivals::default() };
        // The datagram that is being sent belongs to neither interval.
        self.state.sent.load(Ordering::SeqCst) + 1
    }

    /// Waits until the stream flows, and returns the counts of the interval that started with this
    /// datagram.
    pub(crate) fn end(&self, first: u64) -> Sample {
        let next = self.state.sent.load(Ordering::SeqCst);
        // There is one path: what was sent before a datagram that has arrived has arrived or is
        // lost.
        eventually("a datagram of the stream", || {
            let last = self.state.arrivals().numbers.last().copied();
            check(last.is_some_and(|last| last >= next), format!("{}: the last is {last:?} of {next}", self.engine))
        });
        // A stream that was restarted since then counts from its start.
        let first = if first > next { 1 } else { first };
        let arrivals = self.state.arrivals();
        let arrived = arrivals.numbers.range(first..next).count() as u64;
        let sent = next.saturating_sub(first);
        let Arrivals { duplicates, longest_gap, .. } = *arrivals;
        Sample { packets: sent, lost: Some(sent - arrived), duplicates, gap: longest_gap }
    }

    /// Waits until this number of datagrams of the interval were sent.
    pub(crate) fn await_sent(&self, first: u64, count: u64) {
        eventually("datagrams of the stream", || {
            let next = self.state.sent.load(Ordering::SeqCst);
            check(next >= first + count, format!("{}: {} of {count} sent", self.engine, next.saturating_sub(first)))
        });
    }

    /// Waits for a datagram after this time, and returns the time of its arrival.
    pub(crate) fn await_arrival_after(&self, time: Instant) -> Instant {
        let deadline = Instant::now() + TIMEOUT;
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
        // An interface without its peer returns an error; the datagram counts as sent and lost.
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
