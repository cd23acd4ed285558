//! How a real `ovsdb-server` treats monitors.

use crate::common::{create_bridge, database, insert_bridge};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use usnet_ovsdb::schema::TABLES;
use usnet_ovsdb::wire::{Endpoint, Event, Protocol};
use usnet_ovsdb::{Cache, DATABASE, Transaction, monitor};

/// A connection without a client.
struct Raw {
    stream: UnixStream,
    endpoint: Endpoint,
}

impl Raw {
    fn send(&mut self, method: &str, params: &impl serde::Serialize) {
        self.endpoint.request(method, params).expect("request");
        let bytes = self.endpoint.outgoing().to_vec();
        self.stream.write_all(&bytes).expect("write");
        self.endpoint.sent(bytes.len());
    }

    fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.endpoint.next_event().expect("an event") {
                return event;
            }
            let mut buffer = [0; 4096];
            let bytes = self.stream.read(&mut buffer).expect("read");
            assert_ne!(bytes, 0, "closed");
            self.endpoint.receive(&buffer[..bytes]);
        }
    }

    fn answer(&mut self) -> Json {
        match self.next() {
            Event::Response { result, .. } => result.expect("no error"),
            event @ Event::Notification { .. } => panic!("{event:?}"),
        }
    }
}

#[test]
fn resume_never_works_so_everything_is_sent() {
    let (openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let stream = UnixStream::connect(openvswitch.socket()).expect("connect");
    let mut raw = Raw { stream, endpoint: Endpoint::default() };
    let mut request = monitor::request(DATABASE, &TABLES);
    raw.send(monitor::METHOD, &request);
    let first = raw.answer();
    request[1] = json!("again");
    request[3] = first[1].clone();
    raw.send(monitor::METHOD, &request);
    let second = raw.answer();
    assert_eq!((&second[0], &second[2]), (&json!(false), &first[2]));

    let mut cache = Cache::new(&TABLES);
    cache.apply(monitor::parse_reply(&second).expect("rows")).expect("they fit");
    assert_eq!(cache.bridges().expect("bridges")[0].name, "br0");
}

#[test]
fn update_comes_before_the_answer() {
    let (openvswitch, _client) = database();
    let stream = UnixStream::connect(openvswitch.socket()).expect("connect");
    let mut raw = Raw { stream, endpoint: Endpoint::default() };
    raw.send(monitor::METHOD, &monitor::request(DATABASE, &TABLES));
    raw.answer();
    for number in 0..100 {
        let mut transaction = Transaction::new();
        insert_bridge(&mut transaction, &format!("br{number}"));
        raw.send("transact", &transaction);
        let event = raw.next();
        assert!(matches!(event, Event::Notification { .. }), "{event:?}");
        raw.answer();
    }
}
