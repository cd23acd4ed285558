//! Helpers for the tests on each engine.

use std::time::{Duration, Instant};
use usnet_endpoint::{Error, Port};

pub(crate) const CONNECTED_WITHIN: Duration = Duration::from_secs(30);
/// No more than a ring of the receiver holds: it need not run while they are sent.
const FRAMES: u32 = 1000;

/// A switch whose ports are in one segment.
pub(crate) trait Switch {
    fn port(&self, name: &str) -> Box<dyn Port>;
}

/// Returns a numbered broadcast with the ethertype for experiments.
pub(crate) fn broadcast(size: usize, number: u32) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend_from_slice(&[2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.resize(size, 0x5a);
    frame
}

/// Receives until there are `count` frames, or none came for `patience`.
pub(crate) fn receive_all(port: &mut impl Port, count: usize, patience: Duration) -> Vec<Vec<u8>> {
    let (mut frames, mut buffer) = (Vec::new(), Vec::new());
    while frames.len() < count {
        if port.receive(&mut buffer).unwrap() {
            if buffer.get(12..14) == Some(&[0x88, 0xb5]) {
                frames.push(buffer.clone());
            }
        } else if !port.wait(patience).unwrap() {
            break;
        }
    }
    frames
}

/// Sends even if the switch does not take frames for a moment.
pub(crate) fn send(port: &mut impl Port, frame: &[u8]) {
    let deadline = Instant::now() + CONNECTED_WITHIN;
    loop {
        match port.send(frame) {
            Err(Error::Full) if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(100)),
            result => return result.unwrap(),
        }
    }
}

/// Exchanges numbered frames of several sizes between two ports in both directions. Each has to
/// arrive once, unchanged and in order.
pub(crate) fn exchange(switch: &impl Switch) {
    let (mut a, mut b) = (Boxed(switch.port("a")), Boxed(switch.port("b")));
    let first = broadcast(64, u32::MAX);
    let ready = |from: &mut Boxed, to: &mut Boxed| {
        let deadline = Instant::now() + CONNECTED_WITHIN;
        while receive_all(to, 1, Duration::from_millis(50)).is_empty() {
            assert!(Instant::now() < deadline, "no frame arrives");
            from.send(&first).unwrap();
        }
        while !receive_all(to, 1, Duration::from_millis(200)).is_empty() {}
    };
    ready(&mut a, &mut b);
    ready(&mut b, &mut a);
    for size in [64, 1500, 9000] {
        for _ in 0..2 {
            let sent: Vec<Vec<u8>> = (0..FRAMES).map(|number| broadcast(size, number)).collect();
            sent.iter().for_each(|frame| send(&mut a, frame));
            let received = receive_all(&mut b, sent.len(), Duration::from_secs(5));
            assert_eq!(received.len(), sent.len(), "frames of {size} bytes");
            assert!(received == sent, "frames of {size} bytes have changed");
            std::mem::swap(&mut a, &mut b);
        }
    }
}

struct Boxed(Box<dyn Port>);

impl Port for Boxed {
    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        self.0.send(frame)
    }
    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        self.0.receive(buffer)
    }
    fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        self.0.wait(timeout)
    }
}
