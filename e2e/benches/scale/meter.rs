//! A relay before the API server that counts bytes, TLS and all.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes that went through.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl Meter {
    /// Relays to `target`; gives back where it listens.
    pub(crate) fn before(target: SocketAddr) -> (Self, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let meter = Self::default();
        let counts = meter.clone();
        thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                let Ok(server) = TcpStream::connect(target) else { continue };
                relay(&client, &server, counts.sent.clone());
                relay(&server, &client, counts.received.clone());
            }
        });
        (meter, address)
    }

    /// Bytes to the API server, and from it, since this was asked last.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.sent.swap(0, Ordering::Relaxed), self.received.swap(0, Ordering::Relaxed))
    }
}

fn relay(from: &TcpStream, to: &TcpStream, count: Arc<AtomicU64>) {
    let (mut from, mut to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
    let _ = to.set_nodelay(true);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            count.fetch_add(length as u64, Ordering::Relaxed);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
