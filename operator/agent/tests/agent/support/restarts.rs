//! How long it takes after an engine's death and after its return, over many restarts.

use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The number of restarts: `USNET_RESTARTS`, or a few.
pub(crate) fn number() -> u32 {
    std::env::var("USNET_RESTARTS").map_or(3, |text| text.parse().unwrap())
}

/// Notes when a socket accepts connections again.
pub(crate) fn watch_socket(socket: PathBuf) -> JoinHandle<Instant> {
    thread::spawn(move || await_socket(&socket))
}

/// Waits until a socket accepts connections, and says when that was.
pub(crate) fn await_socket(socket: &Path) -> Instant {
    while UnixStream::connect(socket).is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    Instant::now()
}

/// The durations of each restart. They fail no test: a busy machine misses any target.
pub(crate) struct Restarts {
    engine: &'static str,
    /// From the death of the engine to `Ready=False`.
    pub(crate) not_ready: Times,
    /// From its socket to the last port.
    pub(crate) ports: Times,
    /// From its socket to `Ready=True`.
    pub(crate) ready: Times,
}

impl Restarts {
    pub(crate) fn of(engine: &'static str) -> Self {
        let [short, long] = [Duration::from_millis(500), Duration::from_secs(2)];
        Self { engine, not_ready: Times::within(long), ports: Times::within(short), ready: Times::within(long) }
    }
}

impl fmt::Display for Restarts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, not_ready, ports, ready } = self;
        writeln!(formatter, "| {engine} | restarts | p50 (s) | p99 (s) | max (s) | target (s) | missed |")?;
        writeln!(formatter, "|---|---|---|---|---|---|---|")?;
        writeln!(formatter, "| Ready=False after its death | {not_ready} |")?;
        writeln!(formatter, "| ports after its socket | {ports} |")?;
        write!(formatter, "| Ready=True after its socket | {ready} |")
    }
}

/// A duration of each restart, and its target.
pub(crate) struct Times {
    target: Duration,
    all: Vec<Duration>,
}

impl Times {
    fn within(target: Duration) -> Self {
        Self { target, all: Vec::new() }
    }

    pub(crate) fn add(&mut self, time: Duration) {
        self.all.push(time);
    }
}

impl fmt::Display for Times {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.all.clone();
        sorted.sort();
        let last = sorted.len().saturating_sub(1);
        let percentile =
            |percent: usize| sorted.get((last * percent).div_ceil(100)).copied().unwrap_or_default().as_secs_f64();
        let missed = sorted.iter().filter(|time| **time > self.target).count();
        let [p50, p99, max] = [50, 99, 100].map(percentile);
        write!(
            formatter,
            "{} | {p50:.3} | {p99:.3} | {max:.3} | {} | {missed}",
            sorted.len(),
            self.target.as_secs_f64()
        )
    }
}
