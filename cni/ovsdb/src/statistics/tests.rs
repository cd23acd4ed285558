//! Answers, and the cost of reading a large one.

use super::answer::{Answer, parse};
use super::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{Read, Write as _};
use std::os::unix::net::UnixListener;

fn is_wanted(key: &str) -> bool {
    ["rx_packets", "tx_dropped", "status"].contains(&key)
}

fn row(name: &str, status: &str, statistics: &str) -> String {
    format!(
        r#"{{"name":"{name}","type":"dpdkvhostuserclient","status":["map",[{status}]],"statistics":["map",[{statistics}]]}}"#
    )
}

fn answer(rows: &str) -> String {
    format!(r#"{{"id":0,"result":[{{"rows":[{rows}]}}],"error":null}}"#)
}

fn interfaces(answer: &str) -> Vec<InterfaceStatistics> {
    match parse(answer.as_bytes(), is_wanted) {
        Ok(Answer::Interfaces(interfaces)) => interfaces,
        _ => panic!("no interfaces: {answer}"),
    }
}

#[test]
fn wanted_keys_are_kept_and_others_skipped() {
    let row = row(
        "vhu1",
        r#"["status","connected"],["path","/run/\"x\""]"#,
        r#"["rx_packets",7],["rx_q0_good_packets",1],["tx_dropped",-1],["rx_\u0070ackets",8]"#,
    );
    let [interface] = &interfaces(&answer(&row))[..] else { panic!("one row") };
    assert_eq!((interface.name.as_str(), interface.interface_type.as_str()), ("vhu1", "dpdkvhostuserclient"));
    assert_eq!(interface.status, BTreeMap::from([("status".to_owned(), "connected".to_owned())]));
    assert_eq!(interface.statistics, BTreeMap::from([("rx_packets".to_owned(), 8)]), "by its name, escaped or not");
    assert_eq!(interfaces(&answer("")), []);
}

/// Returns the result of a client whose server sends these messages.
fn read_from(messages: &'static str) -> Result<Vec<InterfaceStatistics>, Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("db.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut request = [0; 4096];
        let length = client.read(&mut request).expect("a request");
        client.write_all(messages.as_bytes()).expect("written");
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let answer = read(&socket, Duration::from_secs(10), is_wanted);
    let request = server.join().expect("the server");
    assert!(request.contains(r#"{"op":"select","table":"Interface","where":[],"columns":["name","type""#), "{request}");
    answer
}

#[test]
fn errors_are_those_of_other_requests() {
    let refused = read_from(r#"{"id":0,"result":[{"error":"not supported","details":"no"}],"error":null}"#);
    assert!(matches!(refused, Err(Error::Transaction { .. })), "{refused:?}");
    let unknown = read_from(r#"{"id":0,"result":null,"error":{"error":"unknown database"}}"#);
    assert!(matches!(unknown, Err(Error::Refused { .. })), "{unknown:?}");
    assert!(matches!(read_from("no JSON"), Err(Error::Wire { .. })));
    assert!(matches!(read_from(r#"{"id":0,"result":[{"rows":[{"name":1}]}],"error":null}"#), Err(Error::Wire { .. })));
    assert!(matches!(read_from(""), Err(Error::Closed { .. })));
}

#[test]
fn a_request_of_the_server_is_no_answer() {
    let answer = read_from(r#"{"id":"echo","method":"echo","params":[]}{"id":0,"result":[{"rows":[]}],"error":null}"#);
    assert_eq!(answer.expect("an answer"), []);
}

/// Returns an answer as large as that of a switch with this many connected vhost-user ports.
fn large_answer(ports: usize) -> String {
    let mut statistics: String = (0..52).fold(String::new(), |mut text, number| {
        let _infallible = write!(text, r#"["rx_q0_size_1024_to_1518_packets_{number:02}",1234567890],"#);
        text
    });
    statistics.push_str(r#"["rx_packets",1234567890],["tx_dropped",12345]"#);
    let rows: Vec<String> =
        (0..ports).map(|port| row(&format!("vhu{port:011}"), r#"["status","connected"]"#, &statistics)).collect();
    answer(&rows.join(","))
}

#[test]
fn a_thousand_ports_are_read_without_generic_values() {
    let answer = large_answer(1000);
    let start = std::time::Instant::now();
    let mut decoder = Decoder::default();
    answer.as_bytes().chunks(16 << 10).for_each(|piece| decoder.push(piece));
    let message = decoder.next_bytes().expect("a message").expect("all of it");
    let Ok(Answer::Interfaces(found)) = parse(message, is_wanted) else { panic!("no interfaces") };
    println!("{} bytes of 1,000 ports: {:?}", answer.len(), start.elapsed());
    assert!(found.len() == 1000 && found.iter().all(|interface| interface.statistics.len() == 2));
}
