//! Frames between the programs of pods, each of which is counted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use usnet_endpoint::{Error, Port};

/// The time between two frames of a program. A program has room for a thousand frames, so that none
/// is lost for the reason that it was not scheduled.
const PACE: Duration = Duration::from_millis(2);
/// How long the last frames may take.
const LAST: Duration = Duration::from_secs(2);
/// The ethertype for experiments.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// Programs that send to the next one, until they are stopped.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    thread: JoinHandle<Counts>,
}

/// The frames of all programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Traffic {
    /// Starts when each program has received a frame of the one before it.
    pub(crate) fn start(ports: Vec<Box<dyn Port + Send>>) -> Self {
        let count = ports.len();
        let numbered = ports.into_iter().enumerate();
        let mut programs: Vec<_> = numbered.map(|(number, port)| Program::new(port, number, count)).collect();
        let (stop, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&received));
        let thread = thread::spawn(move || {
            warm_up(&mut programs);
            run(&mut programs, &stopped, &counted)
        });
        Self { stop, received, thread }
    }

    /// Waits until this many more frames have arrived.
    pub(crate) fn pass(&self, frames: u64) {
        let (before, deadline) = (self.received.load(Ordering::Relaxed), Instant::now() + Duration::from_secs(60));
        while self.received.load(Ordering::Relaxed) < before + frames {
            assert!(Instant::now() < deadline && !self.thread.is_finished(), "no frames pass");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn stop(self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

type Address = [u8; 6];

/// The program of one pod.
struct Program {
    port: Box<dyn Port + Send>,
    own: Address,
    next: Address,
}

impl Program {
    fn new(port: Box<dyn Port + Send>, number: usize, count: usize) -> Self {
        let address = |number| [2, 0, 0, 0, 0, u8::try_from(number).unwrap()];
        Self { port, own: address(number), next: address((number + 1) % count) }
    }

    /// Sends a frame; returns false if the switch takes none at this moment.
    fn send(&mut self, round: u8) -> bool {
        let mut frame = [self.next, self.own].concat();
        frame.extend(ETHERTYPE);
        frame.push(round);
        frame.resize(64, 0);
        match self.port.send(&frame) {
            Ok(()) => true,
            Err(Error::Full) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// The number of frames that came for it. Others are flooded while their address is unknown.
    fn receive(&mut self) -> u64 {
        let (mut buffer, mut count) = (Vec::new(), 0);
        while self.port.receive(&mut buffer).unwrap() {
            count += u64::from(buffer.starts_with(&self.own) && buffer.get(12..14) == Some(&ETHERTYPE));
        }
        count
    }
}

fn warm_up(programs: &mut [Program]) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut heard = BTreeSet::new();
    while heard.len() < programs.len() {
        assert!(Instant::now() < deadline, "of {} programs only {heard:?} receive", programs.len());
        for program in programs.iter_mut() {
            program.send(0);
        }
        thread::sleep(Duration::from_millis(20));
        heard.extend(programs.iter_mut().filter_map(|program| (program.receive() > 0).then_some(program.own)));
    }
    // What is on its way is not counted.
    thread::sleep(Duration::from_millis(500));
    let _rest: u64 = programs.iter_mut().map(Program::receive).sum();
}

fn run(programs: &mut [Program], stopped: &AtomicBool, counted: &AtomicU64) -> Counts {
    let mut counts = Counts::default();
    let mut end = None;
    loop {
        let began = Instant::now();
        if stopped.load(Ordering::Relaxed) {
            let end = *end.get_or_insert(began + LAST);
            if counts.received >= counts.sent || began > end {
                return counts;
            }
        } else {
            counts.sent += programs.iter_mut().map(|program| u64::from(program.send(1))).sum::<u64>();
        }
        counts.received += programs.iter_mut().map(Program::receive).sum::<u64>();
        counted.store(counts.received, Ordering::Relaxed);
        thread::sleep(PACE.saturating_sub(began.elapsed()));
    }
}
