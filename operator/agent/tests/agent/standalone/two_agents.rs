//! Two agents on one node: the second waits.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::until;
use crate::support::standalone_agent::{Manifests, StandaloneAgent, manifest};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use usnet_common::telemetry::ListenOptions;

/// The answer to a probe; none while nothing listens.
fn probe(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn a_second_agent_changes_nothing_until_the_first_has_ended_and_then_takes_over() {
    let testbed = OvsTestbed::start();
    let (first, second) = (Manifests::new(), Manifests::new());
    first.write("a.yaml", &manifest("blue", "OVS", 1500));
    second.write("a.yaml", &manifest("green", "OVS", 1500));
    let running = StandaloneAgent::start(&testbed.paths, first.path());
    testbed.wait_until_programmed("blue");

    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let probes = ListenOptions { listen_probes: Some(address), ..ListenOptions::default() };
    let _waiting = StandaloneAgent::start_with(&testbed.paths, second.path(), probes);
    let answer = until("the second says why it is not ready", || {
        probe(address, "/readyz").filter(|answer| answer.contains("another agent"))
    });
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(probe(address, "/healthz").unwrap().starts_with("HTTP/1.1 200 "));
    // The first agent still works.
    first.write("b.yaml", &manifest("red", "OVS", 1500));
    testbed.wait_until_programmed("red");
    let mut bridges = testbed.bridges();
    bridges.sort();
    assert_eq!(bridges, ["br-blue", "br-red"], "{bridges:?}");

    running.stop_for_successor();
    testbed.wait_until_programmed("green");
    until("the second is ready", || probe(address, "/readyz")?.starts_with("HTTP/1.1 200 ").then_some(()));
}
