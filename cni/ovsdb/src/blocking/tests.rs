use super::Client;
use crate::wire::WireError;
use crate::{Error, Transaction};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Long enough never to be reached if there is an answer.
const AMPLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

fn listener(folder: &Path) -> (UnixListener, std::path::PathBuf) {
    let path = folder.join("db.sock");
    (UnixListener::bind(&path).expect("bind"), path)
}

#[test]
fn silent_server_is_a_timeout() {
    let folder = tempfile::tempdir().expect("folder");
    let (_listener, path) = listener(folder.path());
    let mut client = Client::connect(&path, SHORT).expect("the kernel accepts");
    let error = client.transact(&Transaction::new()).expect_err("no answer");
    assert!(matches!(error, Error::Timeout { request: "transact", .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

#[test]
fn server_that_reads_nothing_is_a_timeout_even_for_much_data() {
    let folder = tempfile::tempdir().expect("folder");
    let (_listener, path) = listener(folder.path());
    let mut client = Client::connect(&path, SHORT).expect("the kernel accepts");
    let mut transaction = Transaction::new();
    transaction.comment("x".repeat(8 << 20));
    let error = client.transact(&transaction).expect_err("not read");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}

#[test]
fn full_queue_of_the_listener_is_an_error_and_no_hang() {
    let folder = tempfile::tempdir().expect("folder");
    let (_listener, path) = listener(folder.path());
    let mut waiting = Vec::new();
    let error = loop {
        match Client::connect(&path, SHORT) {
            Ok(client) => waiting.push(client),
            Err(error) => break error,
        }
        assert!(waiting.len() < 10_000, "the queue is never full");
    };
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}

#[test]
fn missing_socket_error_says_what_to_check() {
    let error = Client::connect("/nonexistent/db.sock", AMPLE).expect_err("no socket");
    let expected = "cannot connect to the database of Open vSwitch at /nonexistent/db.sock; is ovsdb-server running?";
    assert_eq!(error.to_string(), expected);
}

fn answer(stream: &mut UnixStream, text: &str) {
    let mut buffer = [0; 4096];
    assert_ne!(stream.read(&mut buffer).expect("a request"), 0);
    stream.write_all(text.as_bytes()).expect("write");
}

#[test]
fn lost_connection_is_reestablished() {
    let folder = tempfile::tempdir().expect("folder");
    let (listener, path) = listener(folder.path());
    let mut client = Client::connect(&path, AMPLE).expect("connect");
    let server = std::thread::spawn(move || {
        drop(listener.accept().expect("accept"));
        let (mut stream, _) = listener.accept().expect("accept again");
        answer(&mut stream, r#"{"id":"e","method":"echo","params":[]}{"id":0,"result":[],"error":null}"#);
        let mut echo = [0; 4096];
        let bytes = stream.read(&mut echo).expect("the answer to echo is sent with the next request");
        stream.write_all(br#"{"id":1,"result":[],"error":null}"#).expect("write");
        String::from_utf8_lossy(&echo[..bytes]).into_owned()
    });
    let error = client.transact(&Transaction::new()).expect_err("closed");
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    assert_eq!(client.transact(&Transaction::new()).expect("a reply").results(), []);
    client.transact(&Transaction::new()).expect("a reply on the same connection");
    let sent = server.join().expect("server");
    assert!(sent.contains(r#""id":"e""#), "{sent}");
}

/// The limit of a message, plus the bytes that one read and the kernel's buffers may hold.
const RECEIVED_MAX: usize = (64 << 20) + (1 << 20);

#[test]
fn endless_answer_is_refused_at_a_limit() {
    for endless in [b'0', b' '] {
        let folder = tempfile::tempdir().expect("folder");
        let (listener, path) = listener(folder.path());
        let mut client = Client::connect(&path, AMPLE).expect("connect");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            answer(&mut stream, r#"{"id":0,"error":null,"result":["#);
            let (piece, mut sent) = (vec![endless; 1 << 16], 0);
            while stream.write_all(&piece).is_ok() {
                sent += piece.len();
                assert!(sent < RECEIVED_MAX, "the client still reads");
            }
        });
        let error = client.transact(&Transaction::new()).expect_err("no end");
        assert!(matches!(&error, Error::Wire { source: WireError::TooLong, .. }), "{error}");
        server.join().expect("the server wrote no more than the limit");
    }
}

#[test]
fn other_program_at_the_socket_is_reported() {
    let folder = tempfile::tempdir().expect("folder");
    let (listener, path) = listener(folder.path());
    let mut client = Client::connect(&path, AMPLE).expect("connect");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        answer(&mut stream, "SSH-2.0");
    });
    let error = client.transact(&Transaction::new()).expect_err("not a database");
    assert!(matches!(error, Error::Wire { .. }), "{error}");
    server.join().expect("server");
}
