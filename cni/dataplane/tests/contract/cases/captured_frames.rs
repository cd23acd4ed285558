//! Every frame of a captured port comes to the program, in both directions, and goes its way as
//! without the capture.

use super::captures::{capture, captures, number};
use super::counters::{FRAMES, received_by_pod, send};
use crate::switch::Switch;
use crate::values::{Values, converge};
use std::time::{Duration, Instant};
use usnet_dataplane::capture::{Capture, Direction};
use usnet_endpoint::Port;
use usnet_endpoint::vhost_user::{Endpoint, Listener};

const PATIENCE: Duration = Duration::from_secs(20);
/// After so long without a frame none is on its way.
const QUIET: Duration = Duration::from_millis(200);
/// Where the source address, the port and the text of what [`send`] sends are.
const SOURCE: std::ops::Range<usize> = 6..12;
const UDP_PORT: usize = 36;
const TEXT: usize = 42;

/// A started capture of c1, and the program's end.
fn start(switch: &impl Switch, direction: Direction) -> (Listener, Endpoint) {
    let (request, owner) = capture(switch, "c1");
    let listener = Listener::bind(&request.socket).expect("a socket");
    captures(switch).start(&Capture { direction, ..request }, &owner).expect("a capture");
    let mut endpoint = listener.accept(PATIENCE).expect("the engine connects");
    await_copies(switch, &mut endpoint);
    (listener, endpoint)
}

/// Sends until copies come: a packet thread of Open vSwitch sends none before it is reconfigured
/// for the program that has connected.
fn await_copies(switch: &impl Switch, endpoint: &mut Endpoint) {
    let end = Instant::now() + PATIENCE;
    let mut count = 0;
    while count == 0 {
        assert!(Instant::now() < end, "no frame is copied");
        send(switch, "c1");
        send(switch, "c2");
        count = drain(endpoint);
    }
}

/// Receives until nothing comes any more; returns how many frames came.
fn drain(endpoint: &mut Endpoint) -> usize {
    let (mut count, mut frame, mut last) = (0, Vec::new(), Instant::now());
    while last.elapsed() < QUIET {
        if endpoint.receive(&mut frame).expect("a frame") {
            (count, last) = (count + 1, Instant::now());
        } else {
            endpoint.wait(Duration::from_millis(20)).expect("waiting");
        }
    }
    count
}

/// The source and the text of each UDP frame, until so many came.
fn receive(endpoint: &mut Endpoint, count: u64) -> Vec<(Vec<u8>, String)> {
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    let end = Instant::now() + PATIENCE;
    while (frames.len() as u64) < count {
        assert!(Instant::now() < end, "{} of {count} frames came: {frames:?}", frames.len());
        if !endpoint.receive(&mut frame).expect("a frame") {
            endpoint.wait(Duration::from_millis(50)).expect("waiting");
        } else if frame.get(12..14) == Some(&[8, 0]) && frame.get(UDP_PORT..UDP_PORT + 2) == Some(&[0, 9]) {
            let text = String::from_utf8_lossy(&frame[TEXT..]);
            frames.push((frame[SOURCE].to_vec(), text.lines().next().unwrap_or_default().to_owned()));
        }
    }
    frames
}

fn texts() -> Vec<String> {
    (1..=FRAMES).map(|number| number.to_string()).collect()
}

pub(crate) fn every_frame_of_both_directions_is_copied_in_order(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    if !switch.moves_frames() {
        return;
    }
    let (listener, mut endpoint) = start(switch, Direction::Both);
    let before = received_by_pod(switch, "c2");
    send(switch, "c1");
    send(switch, "c2");
    let frames = receive(&mut endpoint, 2 * FRAMES);
    let one = frames[0].0.clone();
    let (of_one, of_two): (Vec<_>, Vec<_>) = frames.into_iter().partition(|(source, _)| *source == one);
    for of_pod in [of_one, of_two] {
        assert_eq!(of_pod.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), texts());
    }
    assert!(received_by_pod(switch, "c2") >= before + FRAMES, "the frames went their way");
    assert!(captures(switch).stop(number()).expect("stopped"));
    drop((listener, endpoint));
}

pub(crate) fn only_frames_of_the_direction_are_copied(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    if !switch.moves_frames() {
        return;
    }
    let mut sources = Vec::new();
    for (direction, sender, other) in [(Direction::Sent, "c1", "c2"), (Direction::Received, "c2", "c1")] {
        let (_listener, mut endpoint) = start(switch, direction);
        send(switch, other);
        send(switch, sender);
        let frames = receive(&mut endpoint, FRAMES);
        assert!(frames.iter().all(|(source, _)| *source == frames[0].0), "{direction:?}: {frames:?}");
        sources.push(frames[0].0.clone());
        assert!(captures(switch).stop(number()).expect("stopped"));
    }
    assert_ne!(sources[0], sources[1]);
}
