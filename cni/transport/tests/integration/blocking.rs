//! The blocking socket against peers that do not read, do not write, or close.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use usnet_transport::blocking::{Deadline, Socket};
use usnet_transport::{Outgoing, Protocol, TransferError};

/// Long enough never to be reached if there is an answer.
const AMPLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);
const READ_SIZE: usize = 4 << 10;

#[derive(Default)]
struct Bytes {
    outgoing: Outgoing,
    received: Vec<u8>,
}

impl Protocol for Bytes {
    fn outgoing(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    fn sent(&mut self, bytes: usize) {
        self.outgoing.sent(bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.received.extend(bytes);
    }
}

fn listener() -> (TempDir, PathBuf, UnixListener) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).expect("bind");
    (folder, path, listener)
}

#[test]
fn reads_while_it_writes() {
    const SIZE: usize = 4 << 20;
    let (_folder, path, listener) = listener();
    // The server sends all before it reads anything: neither side's buffers hold that much.
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        stream.write_all(&vec![1; SIZE]).expect("write");
        let mut read = vec![0; SIZE];
        stream.read_exact(&mut read).expect("read");
        read.iter().all(|byte| *byte == 2)
    });
    let deadline = Deadline::after(AMPLE);
    let mut socket = Socket::connect(&path, READ_SIZE, &deadline).expect("connect");
    let mut bytes = Bytes::default();
    bytes.outgoing.end().resize(SIZE, 2);
    let end = loop {
        match socket.transfer(&mut bytes, &deadline) {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(end, TransferError::Closed), "{end}");
    assert!(bytes.outgoing().is_empty() && bytes.received == vec![1; SIZE]);
    assert!(server.join().expect("server"));
}

#[test]
fn silent_peer_is_a_timeout_with_the_limit() {
    let (_folder, path, _listener) = listener();
    let deadline = Deadline::after(SHORT);
    let mut socket = Socket::connect(&path, READ_SIZE, &deadline).expect("the kernel accepts");
    let error = socket.transfer(&mut Bytes::default(), &deadline).expect_err("silent");
    assert!(matches!(error, TransferError::Timeout { limit: SHORT }), "{error}");
    assert_eq!(socket.path(), path);
}
