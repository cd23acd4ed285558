//! The frames of `cni/dataplane/testdata/guard`: what pod a may send, and what it may not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::pod_endpoint::PodEndpoint;
use usnet_test_abuse::Frame;

const TABLE: &str = include_str!("../../../../../cni/dataplane/testdata/guard/frames.txt");
/// What is in the table.
pub(super) const OWN: usize = 17;
pub(super) const FORGED: usize = 61;
/// How long the last frames may take to the other pods, before what did not arrive counts as
/// dropped. The switch forwards a frame within microseconds; on a busy machine its thread waits.
const GRACE: Duration = Duration::from_millis(500);

/// The frames of the table.
pub(super) struct Table {
    pub(super) own: Arc<Vec<Frame>>,
    pub(super) forged: Arc<Vec<Frame>>,
}

impl Table {
    pub(super) fn read() -> Self {
        let rows: Vec<[&str; 3]> = TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap())
            .collect();
        let of = |kind: &str| {
            let rows = rows.iter().filter(|[of, ..]| *of == kind);
            Arc::new(rows.map(|[_, bytes, name]| frame(name, bytes)).collect::<Vec<_>>())
        };
        let table = Self { own: of("own"), forged: of("forged") };
        assert_eq!((table.own.len(), table.forged.len()), (OWN, FORGED));
        table
    }
}

fn frame(name: &str, bytes: &str) -> Frame {
    let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap();
    Frame { name: name.to_owned(), bytes: (0..bytes.len()).step_by(2).map(byte).collect() }
}

/// The ends of pods, and the forged frames that arrived since they are watched.
pub(super) struct Ends {
    pub(super) from: PodEndpoint,
    pub(super) others: Vec<PodEndpoint>,
    pub(super) forged: BTreeSet<String>,
}

impl Ends {
    /// Sends frames, and returns the names of those that arrive at any of the other pods. The table
    /// has no two frames that are the same without their VLAN tags, some of which are removed on
    /// the way.
    pub(super) fn arriving(&mut self, table: &Table, frames: &Arc<Vec<Frame>>) -> BTreeSet<String> {
        self.receive(table, &mut BTreeSet::new(), frames);
        self.from.send(frames);
        let (mut arrived, mut end) = (BTreeSet::new(), Instant::now() + GRACE);
        while Instant::now() < end && arrived.len() < frames.len() {
            if self.receive(table, &mut arrived, frames) {
                end = Instant::now() + GRACE;
            } else {
                sleep(Duration::from_millis(1));
            }
        }
        arrived
    }

    /// Reads what has arrived; returns whether any of the frames did.
    fn receive(&mut self, table: &Table, arrived: &mut BTreeSet<String>, frames: &[Frame]) -> bool {
        let before = arrived.len();
        while let Some(received) = self.others.iter_mut().find_map(PodEndpoint::receive) {
            let received = untagged(&received);
            let found = |frames: &[Frame]| {
                frames.iter().find(|frame| untagged(&frame.bytes) == received).map(|frame| frame.name.clone())
            };
            arrived.extend(found(frames));
            self.forged.extend(found(&table.forged));
        }
        arrived.len() > before
    }
}

fn untagged(bytes: &[u8]) -> Vec<u8> {
    let (macs, mut rest) = bytes.split_at(bytes.len().min(12));
    while rest.len() > 4 && (rest.starts_with(&[0x81, 0]) || rest.starts_with(&[0x88, 0xa8])) {
        rest = &rest[4..];
    }
    [macs, rest].concat()
}
