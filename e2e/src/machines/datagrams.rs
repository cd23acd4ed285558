//! Numbered datagrams: one program sends them, and another counts those that arrive.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;
use serde::{Deserialize, Serialize};

use super::processors::{Moment, Work};

const PORT: u16 = 7100;
/// Of the socket that counts: a receiver that waits for its turn loses nothing.
const BUFFER: usize = 64 << 20;
/// How long a receiver waits for something to arrive.
pub(super) const FIRST: Duration = Duration::from_secs(60);
/// A count ends when nothing has arrived for this long.
const IDLE: Duration = Duration::from_secs(3);
/// Datagrams that are sent before the last one of them has been acknowledged: fewer than fit into
/// any queue, so that only faults lose them, and not an emulated processor that waits for its turn.
pub const WINDOW: u64 = 16;
/// The receiver has lost the last one of a window if it does not acknowledge it within this time.
const ACKNOWLEDGED: Duration = Duration::from_millis(500);
/// How often a count looks at the work of the node.
const MOMENTS: u64 = 32;

/// The datagrams that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Different ones.
    pub unique: u64,
    /// All, copies included.
    pub total: u64,
}

/// The datagrams that arrived, and what the node did meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Arrived {
    #[serde(flatten)]
    pub count: Count,
    pub work: Work,
}

/// Whether the receiver acknowledges a datagram. With a window of 0 it acknowledges none.
fn is_acknowledged(number: u64, window: u64) -> bool {
    number.checked_rem(window).is_some_and(|place| place == window - 1)
}

/// Counts datagrams, until none arrives any more.
pub(super) fn count(frames: u64, window: u64, ready: &Path) -> io::Result<Arrived> {
    let socket = UdpSocket::bind(any(PORT))?;
    setsockopt(&socket, RcvBufForce, &BUFFER)?;
    socket.set_read_timeout(Some(FIRST))?;
    fs::write(ready, "")?;
    let mut seen = vec![false; usize::try_from(frames).map_err(io::Error::other)?];
    let mut count = Count { unique: 0, total: 0 };
    let mut datagram = vec![0; 1 << 16];
    let mut period = Period::new(frames)?;
    loop {
        let sender = match socket.recv_from(&mut datagram) {
            Ok((_, sender)) => sender,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        let number = datagram.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
        if is_acknowledged(number, window) {
            socket.send_to(&number.to_be_bytes(), sender)?;
        }
        if count.total == 0 {
            socket.set_read_timeout(Some(IDLE))?;
        }
        count.total += 1;
        if let Some(seen) = usize::try_from(number).ok().and_then(|number| seen.get_mut(number)) {
            count.unique += u64::from(!*seen);
            *seen = true;
        }
        period.arrived(number, count.total)?;
    }
    Ok(Arrived { count, work: period.work() })
}

/// The time of a count. It ends at one of a few datagrams and not at the last one, which may be
/// lost.
struct Period {
    /// Datagrams between two of its moments.
    step: u64,
    next: u64,
    first: (u64, Moment),
    last: (u64, Moment),
}

impl Period {
    fn new(frames: u64) -> io::Result<Self> {
        let now = || Ok::<_, io::Error>((0, Moment::now()?));
        Ok(Self { step: (frames / MOMENTS).max(1), next: 0, first: now()?, last: now()? })
    }

    /// Notes that the datagram of this number arrived, as the one of that count.
    fn arrived(&mut self, number: u64, count: u64) -> io::Result<()> {
        if number < self.next {
            return Ok(());
        }
        let moment = if self.next == 0 { &mut self.first } else { &mut self.last };
        *moment = (count, Moment::now()?);
        self.next = number + self.step;
        Ok(())
    }

    fn work(&self) -> Work {
        self.first.1.until(&self.last.1, self.last.0.saturating_sub(self.first.0))
    }
}

/// Sends datagrams, and returns what the node did meanwhile. With a window of 0 it waits for no
/// acknowledgement.
pub(super) fn send(address: IpAddr, frames: u64, bytes: usize, window: u64) -> io::Result<Work> {
    let socket = UdpSocket::bind(any_of(address))?;
    socket.connect((address, PORT))?;
    socket.set_read_timeout(Some(ACKNOWLEDGED))?;
    let mut datagram = vec![0; bytes.max(8)];
    let begun = Moment::now()?;
    for number in 0..frames {
        if let Some(head) = datagram.first_chunk_mut() {
            *head = number.to_be_bytes();
        }
        socket.send(&datagram)?;
        if is_acknowledged(number, window) {
            await_acknowledgement(&socket, number)?;
        }
    }
    Ok(begun.until(&Moment::now()?, frames))
}

/// Waits until the receiver acknowledges this datagram, or has lost it.
fn await_acknowledgement(socket: &UdpSocket, number: u64) -> io::Result<()> {
    let mut acknowledged = [0; 8];
    while u64::from_be_bytes(acknowledged) != number {
        match socket.recv(&mut acknowledged) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn any(port: u16) -> SocketAddr {
    SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port))
}

fn any_of(address: IpAddr) -> SocketAddr {
    match address {
        IpAddr::V4(_) => SocketAddr::from((std::net::Ipv4Addr::UNSPECIFIED, 0)),
        IpAddr::V6(_) => any(0),
    }
}
