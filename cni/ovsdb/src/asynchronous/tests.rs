use super::Options;
use super::connection::Connection;
use crate::Error;
use crate::wire::Protocol;
use serde_json::value::to_raw_value;
use std::sync::Arc;
use tokio::time::Instant;
use usnet_transport::asynchronous::{Connection as _, Received};

const DUMP: &[u8] = br#"{"id": 0, "result": [false, "", {}], "error": null}"#;

fn begin() -> Connection {
    Connection::begin(&mut Arc::new(Options::new("/run/db.sock")), 7).expect("a request")
}

fn receive(connection: &mut Connection, bytes: &[u8]) -> Result<Received<Connection>, Error> {
    connection.endpoint().receive(bytes);
    connection.handle_received()
}

#[test]
fn connection_is_open_once_the_dump_is_read() {
    let mut connection = begin();
    assert!(!connection.is_open());
    assert!(!receive(&mut connection, b"{").expect("a part of a message").changed);
    assert!(!connection.is_open());
    assert!(receive(&mut connection, &DUMP[1..]).expect("the dump").changed);
    assert!(connection.is_open());
    assert_eq!(connection.connected().epoch, 7);
}

#[test]
fn refused_dump_and_canceled_monitor_end_the_connection() {
    let refused = receive(&mut begin(), br#"{"id": 0, "result": null, "error": "unknown database"}"#);
    assert!(matches!(refused, Err(Error::Refused { request: "monitor_cond_since", .. })), "{refused:?}");
    let mut connection = begin();
    receive(&mut connection, DUMP).expect("the dump");
    let canceled = receive(&mut connection, br#"{"id": null, "method": "monitor_canceled", "params": ["usnet"]}"#);
    assert!(matches!(canceled, Err(Error::MonitorCanceled { .. })), "{canceled:?}");
}

#[test]
fn anything_received_after_an_echo_answers_it() {
    let mut connection = begin();
    let started = Instant::now();
    let probe_after = Options::new("").probe_after;
    assert_eq!(connection.probe_at(started), started + probe_after);
    assert!(connection.probe(started).expect("an echo").is_none());
    assert!(connection.probe_at(started) > started + probe_after, "the time of the answer starts with the echo");
    let received = Instant::now();
    assert_eq!(connection.probe_at(received), received + probe_after);
    connection.probe(received).expect("another echo");
    let silent = connection.probe(received);
    assert!(matches!(silent, Err(Error::Timeout { request: "echo", limit, .. }) if limit == probe_after), "{silent:?}");
}

/// A transaction may wait for `ovs-vswitchd` for as long as its caller wants.
#[test]
fn transactions_are_limited_in_number_and_not_in_time() {
    let mut connection = begin();
    let submitted = connection.submit(to_raw_value(&["Open_vSwitch"]).expect("JSON")).expect("a request");
    assert_eq!(submitted.limit, None);
    assert!(connection.has_room(63) && !connection.has_room(64));
}
