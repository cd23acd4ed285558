//! Measures what arrives: numbered datagrams, and the time of a TCP stream. It runs in the network
//! namespace of a pod in a machine.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::datagrams::{self, FIRST, WINDOW, any};

const STREAM: u16 = 7101;

#[derive(Debug, clap::Subcommand)]
pub enum Measurement {
    /// Counts numbered datagrams, and prints them as JSON
    Count {
        /// How many are sent.
        #[arg(long)]
        frames: u64,
        /// Of how many it acknowledges the last one; 0 for none.
        #[arg(long, default_value_t = WINDOW)]
        window: u64,
        /// A file that is created when it listens.
        #[arg(long)]
        ready: PathBuf,
    },
    /// Sends numbered datagrams, and prints the time
    Send {
        address: IpAddr,
        #[arg(long)]
        frames: u64,
        /// Bytes of each datagram, without headers.
        #[arg(long, default_value_t = 64)]
        bytes: usize,
        /// After how many it waits for an acknowledgement; 0 for never.
        #[arg(long, default_value_t = WINDOW)]
        window: u64,
    },
    /// Receives a TCP stream to its end
    Receive {
        #[arg(long)]
        ready: PathBuf,
    },
    /// Sends a TCP stream, and prints how long it took until all was received, and what was sent
    /// again
    Stream {
        address: IpAddr,
        #[arg(long)]
        bytes: usize,
    },
}

/// A TCP stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    pub seconds: f64,
    pub retransmitted: u64,
}

/// Runs a measurement, and returns what it prints.
pub fn run(measurement: &Measurement) -> io::Result<String> {
    match measurement {
        Measurement::Count { frames, window, ready } => datagrams::count(*frames, *window, ready).and_then(json),
        Measurement::Send { address, frames, bytes, window } => {
            datagrams::send(*address, *frames, *bytes, *window).and_then(json)
        }
        Measurement::Receive { ready } => receive(ready).map(|()| String::new()),
        Measurement::Stream { address, bytes } => stream(*address, *bytes).and_then(json),
    }
}

fn json<T: Serialize>(value: T) -> io::Result<String> {
    serde_json::to_string(&value).map_err(io::Error::other)
}

fn receive(ready: &Path) -> io::Result<()> {
    let listener = TcpListener::bind(any(STREAM))?;
    fs::write(ready, "")?;
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(FIRST))?;
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer)? > 0 {}
    stream.write_all(&[1])
}

fn stream(address: IpAddr, bytes: usize) -> io::Result<Stream> {
    let before = retransmitted()?;
    let start = Instant::now();
    let mut stream = TcpStream::connect((address, STREAM))?;
    stream.set_read_timeout(Some(FIRST))?;
    let block = vec![7; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let part = block.get(..left.min(block.len())).unwrap_or_default();
        stream.write_all(part)?;
        left -= part.len();
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_exact(&mut [0])?;
    Ok(Stream { seconds: start.elapsed().as_secs_f64(), retransmitted: retransmitted()?.saturating_sub(before) })
}

/// The segments that this network namespace has sent again: a column of `/proc/net/snmp`, which has
/// a line with the names and one with the values.
fn retransmitted() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let found = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "RetransSegs");
    found
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self/net/snmp has no RetransSegs"))
}
