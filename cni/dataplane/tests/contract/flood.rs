//! Frames without end from the device of a pod, each a different one.

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{MsgFlags, send};
use smoltcp::phy::{Medium, RawSocket};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;
use std::time::Duration;

/// How long floods last: some seconds, or as many as `USNET_FLOOD_SECONDS` says.
pub(crate) fn length() -> Duration {
    let seconds = std::env::var("USNET_FLOOD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// When it ends, and how many frames it has sent.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    stop: AtomicBool,
    sent: AtomicU64,
}

impl Flood {
    /// Sends the frame of each number from a device, in this network namespace or in that of the
    /// caller, until the result is dropped.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        (device, namespace): (String, Option<&'scope Path>),
        frame: impl Fn(u32) -> Vec<u8> + Send + 'scope,
    ) -> Running<'scope> {
        scope.spawn(move || {
            if let Some(namespace) = namespace {
                let file = File::open(namespace).expect("a network namespace");
                setns(file, CloneFlags::CLONE_NEWNET).expect("entered");
            }
            let socket = RawSocket::new(&device, Medium::Ethernet).expect("a packet socket");
            for number in 0.. {
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                match send(socket.as_raw_fd(), &frame(number), MsgFlags::empty()) {
                    Ok(_) => drop(self.sent.fetch_add(1, Ordering::Relaxed)),
                    // The other end is away, or does not read.
                    Err(Errno::ENOBUFS | Errno::ENETDOWN | Errno::EAGAIN) => {}
                    Err(error) => panic!("{device}: {error}"),
                }
            }
        });
        Running(self)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// It goes on until this is dropped, also by a test that fails.
#[must_use]
pub(crate) struct Running<'a>(&'a Flood);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// From a different address each, to one that nothing has.
pub(crate) fn of_mac_addresses(number: u32) -> Vec<u8> {
    let [a, b, c, d] = number.wrapping_mul(2_654_435_761).to_be_bytes();
    let mut frame = vec![0x02, 0xff, 0, 0, 0, 1, 0x02, 0x10, a, b, c, d, 0x88, 0xb5];
    frame.resize(60, 0);
    frame
}
