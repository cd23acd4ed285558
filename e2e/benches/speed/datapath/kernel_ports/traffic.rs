//! What two pods send each other.

use super::super::middle;
use super::scene::{Pair, address, ip};
use crate::host::namespaces::within;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const FRAMES_FOR: Duration = Duration::from_millis(500);
const TCP_FOR: Duration = Duration::from_millis(500);
/// Datagrams that are answered, one at a time.
const EXCHANGES: usize = 500;
/// A frame of 64 bytes with its checksum.
const PAYLOAD: usize = 18;
/// How long a datagram may take before it is lost.
const PATIENCE: Duration = Duration::from_millis(500);
/// TCP that makes no progress for so long has stalled.
const STALL: Duration = Duration::from_secs(10);

/// The figures of one window.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Thousands of frames that arrive each second.
    pub(super) frames: f64,
    /// Half the median of the time until an answer, in microseconds.
    pub(super) one_way: f64,
    /// MiB each second by TCP.
    pub(super) tcp: f64,
}

impl Sample {
    pub(super) fn of(pair: Pair) -> Self {
        // Each side learns where the other is before.
        let one_way = one_way(pair);
        Self { frames: frames(pair), one_way, tcp: tcp(pair) }
    }
}

fn udp(pair: Pair, pod: usize) -> UdpSocket {
    within(&pair.pod(pod), || {
        let socket = UdpSocket::bind((address(pod), 9000)).expect("a socket");
        socket.connect((address(1 - pod), 9000)).expect("a peer");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
        socket
    })
}

fn one_way(pair: Pair) -> f64 {
    let (asking, answering) = (udp(pair, 0), udp(pair, 1));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; PAYLOAD];
            while !is_done.load(Ordering::Relaxed) {
                if answering.recv(&mut buffer).is_ok() {
                    let _lost = answering.send(&buffer);
                }
            }
        });
        let mut buffer = [0; PAYLOAD];
        let mut times = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let began = Instant::now();
            asking.send(&buffer).expect("a frame is sent");
            if asking.recv(&mut buffer).is_ok() {
                times.push(began.elapsed().as_secs_f64() * 1e6 / 2.0);
            }
        }
        is_done.store(true, Ordering::Relaxed);
        // Ends the other thread's wait.
        let _lost = asking.send(&buffer);
        assert!(times.len() * 100 > EXCHANGES * 98, "{} of {EXCHANGES} datagrams were answered", times.len());
        middle(times)
    })
}

/// What arrives at the device of one pod while the other sends as fast as it can.
fn frames(pair: Pair) -> f64 {
    let (sender, _receiver) = (udp(pair, 0), udp(pair, 1));
    let received = || {
        let text = within(&pair.pod(1), || ip("-s -o link show net1"));
        let (_, counters) = text.split_once("RX:").expect("counters");
        let mut numbers = counters.split(['\\', ' ']).filter_map(|word| word.parse::<f64>().ok());
        // Bytes come first.
        numbers.nth(1).expect("a counter")
    };
    let (before, began) = (received(), Instant::now());
    while began.elapsed() < FRAMES_FOR {
        for _ in 0..64 {
            // A full queue is no reason to end.
            let _full = sender.send(&[0; PAYLOAD]);
        }
    }
    (received() - before) / began.elapsed().as_secs_f64() / 1e3
}

fn tcp(pair: Pair) -> f64 {
    let listener = within(&pair.pod(1), || TcpListener::bind((address(1), 0)).expect("a socket"));
    let port = listener.local_addr().expect("its port").port();
    thread::scope(|scope| {
        let received = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(STALL)).expect("a limit");
            let (mut bytes, mut buffer) = (0.0, vec![0; 1 << 18]);
            loop {
                match stream.read(&mut buffer).expect("TCP does not stall") {
                    0 => break bytes,
                    more => bytes += f64::from(u32::try_from(more).expect("a part of the buffer")),
                }
            }
        });
        let mut stream = within(&pair.pod(0), || TcpStream::connect((address(1), port)).expect("a connection"));
        stream.set_write_timeout(Some(STALL)).expect("a limit");
        let (chunk, began) = (vec![7; 1 << 18], Instant::now());
        while began.elapsed() < TCP_FOR {
            stream.write_all(&chunk).expect("TCP does not stall");
        }
        drop(stream);
        let bytes = received.join().expect("a receiver");
        bytes / began.elapsed().as_secs_f64() / f64::from(1 << 20)
    })
}
