//! The time of a node's processors, from `/proc` (proc(5)): of all its programs and of the kernel,
//! and of its switch.

use std::fs;
use std::io;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Of these, `/proc` counts a hundred a second on every machine with Linux that usnet is built for.
const TICKS_A_SECOND: f64 = 100.0;
/// Where `guest/node` writes the number of the switch's process.
const SWITCH: &str = "/run/ovs-vswitchd.pid";
/// The time in user mode and the kernel, in `/proc/PID/stat` after the name of the program.
const PROGRAM_TIMES: [usize; 2] = [11, 12];
/// The time of a processor without work, and of one that waits for a disk, in `/proc/stat`.
const IDLE_TIMES: [usize; 2] = [3, 4];

/// What was done in a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Frames that were sent, or that arrived.
    pub frames: u64,
    pub seconds: f64,
    /// Seconds of all processors, whatever they did.
    pub node: f64,
    /// Seconds of the switch alone, in which interrupts of the kernel are that came meanwhile.
    pub switch: f64,
}

/// The times at a moment.
#[derive(Debug)]
pub(super) struct Moment {
    at: Instant,
    processors: usize,
    idle: f64,
    switch: f64,
}

impl Moment {
    pub(super) fn now() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/stat")?;
        let all = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let processors = stat.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
        Ok(Self { at: Instant::now(), processors, idle: seconds(all, IDLE_TIMES), switch: switch() })
    }

    /// What was done for some frames between this moment and a later one.
    pub(super) fn until(&self, later: &Self, frames: u64) -> Work {
        let seconds = later.at.saturating_duration_since(self.at).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "machines have few processors")]
        let processors = self.processors as f64;
        let node = (seconds * processors - (later.idle - self.idle)).max(0.0);
        Work { frames, seconds, node, switch: later.switch - self.switch }
    }
}

/// The time of the switch; none without one, as at a host that is no node.
fn switch() -> f64 {
    let stat = fs::read_to_string(SWITCH).and_then(|pid| fs::read_to_string(format!("/proc/{}/stat", pid.trim())));
    // The name may have spaces.
    stat.ok().and_then(|stat| Some(seconds(stat.rsplit_once(") ")?.1, PROGRAM_TIMES))).unwrap_or_default()
}

/// The sum of two columns.
fn seconds(line: &str, columns: [usize; 2]) -> f64 {
    let ticks = |column| line.split_whitespace().nth(column).and_then(|text| text.parse::<f64>().ok());
    columns.into_iter().filter_map(ticks).sum::<f64>() / TICKS_A_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_idle_processors_and_of_a_program() {
        assert_eq!(seconds(" 100 0 200 3000 50 0 7 0 0 0", IDLE_TIMES), 30.5);
        assert_eq!(seconds("S 1 1 1 0 -1 4194560 900 0 0 0 250 150 0 0 20 0", PROGRAM_TIMES), 4.0);
    }
}
