//! The blocking client against peers that misbehave.

use crate::common::scripted::{Peer, Socket, table};
use crate::common::{AMPLE, SHORT, loopback};
use std::io::{Read, Write};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::*;
use usnet_vpp::wire::{Envelope, write_message};
use usnet_vpp::{Batch, Error};

#[test]
fn missing_socket_error_says_what_to_check() {
    let error = Client::connect("/nonexistent/api.sock", AMPLE).expect_err("no socket");
    let expected = "cannot connect to VPP at /nonexistent/api.sock; is VPP running, and does its startup.conf have a \
                    section socksvr with this socket?";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn vpp_that_accepts_and_never_answers_is_a_timeout() {
    let socket = Socket::new();
    let _listener = socket.listen();
    let error = Client::connect(socket.path(), SHORT).expect_err("no answer");
    assert!(matches!(error, Error::Timeout { request: "sockclnt_create", .. }), "{error}");
}

#[test]
fn full_queue_of_the_listener_is_an_error_and_no_hang() {
    let socket = Socket::new();
    let _listener = socket.listen();
    let mut waiting = Vec::new();
    while let Ok(stream) = connect_now(&socket) {
        waiting.push(stream);
        assert!(waiting.len() < 10_000, "the queue is never full");
    }
    let error = Client::connect(socket.path(), SHORT).expect_err("no room");
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}

fn connect_now(socket: &Socket) -> nix::Result<std::os::fd::OwnedFd> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket as new_socket};
    use std::os::fd::AsRawFd;
    let descriptor = new_socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_NONBLOCK, None)?;
    connect(descriptor.as_raw_fd(), &UnixAddr::new(&socket.path())?)?;
    Ok(descriptor)
}

#[test]
fn other_program_at_the_socket_is_reported() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::accept(listener);
        peer.stream.write_all(b"-ERR unknown command\r\n").expect("write");
        let mut rest = Vec::new();
        let _end = peer.stream.read_to_end(&mut rest);
    });
    let error = Client::connect(socket.path(), AMPLE).expect_err("not VPP");
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
    server.join().expect("server");
}

#[test]
fn table_that_ends_in_the_middle_is_a_closed_connection() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::accept(listener);
        peer.next().expect("a client");
        let mut bytes = Vec::new();
        write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &table());
        peer.stream.write_all(bytes.get(..bytes.len() / 2).expect("half")).expect("write");
    });
    let error = Client::connect(socket.path(), AMPLE).expect_err("half a table");
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    server.join().expect("server");
}

#[test]
fn table_byte_by_byte_and_an_event_between_replies() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::accept(listener);
        peer.next().expect("a client");
        let mut bytes = Vec::new();
        write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &table());
        for byte in bytes {
            peer.stream.write_all(&[byte]).expect("write");
        }
        let first = peer.expect::<MemifDelete>();
        let second = peer.expect::<ControlPing>();
        peer.reply(0, &SwInterfaceEvent { pid: first, ..SwInterfaceEvent::default() });
        peer.reply(first, &MemifDeleteReply::default());
        peer.reply(0, &SwInterfaceEvent { pid: second, ..SwInterfaceEvent::default() });
        peer.reply(second, &ControlPingReply { vpe_pid: 3, ..ControlPingReply::default() });
    });
    let mut client = Client::connect(socket.path(), AMPLE).expect("connect");
    let mut batch = Batch::new();
    let deleted = batch.request(MemifDelete { sw_if_index: 1 });
    let ping = batch.request(ControlPing {});
    let answers = client.send(&batch).expect("answers");
    answers.reply(deleted).expect("deleted");
    assert_eq!(answers.reply(ping).map(|reply| reply.vpe_pid), Ok(3));
    server.join().expect("server");
}

/// Late answers to the first batch must not be mistaken for answers to the second.
#[test]
fn connection_is_reestablished_after_a_timeout() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut silent = Peer::greet(listener);
        let late = silent.expect::<CreateLoopbackInstance>();
        let mut peer = Peer::greet(listener);
        silent.reply(late, &CreateLoopbackInstanceReply { sw_if_index: 1, ..CreateLoopbackInstanceReply::default() });
        let context = peer.expect::<CreateLoopbackInstance>();
        peer.reply(context, &CreateLoopbackInstanceReply { sw_if_index: 2, ..CreateLoopbackInstanceReply::default() });
        peer.expect_shutdown();
    });
    let mut client = Client::connect(socket.path(), SHORT).expect("connect");
    let error = client.send(&loopback()).expect_err("silent");
    assert!(matches!(error, Error::Timeout { request: "create_loopback_instance", .. }), "{error}");
    let mut batch = Batch::new();
    let created = batch.request(CreateLoopbackInstance::default());
    let answers = client.send(&batch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answers.reply(created).map(|reply| reply.sw_if_index), Ok(2));
    drop(client);
    server.join().expect("server");
}

#[test]
fn hanging_vpp_is_disconnected_without_its_shutdown_reply() {
    let socket = Socket::new();
    let (left, seen) = std::sync::mpsc::channel();
    let server = socket.serve(move |listener| {
        let mut peer = Peer::greet(listener);
        peer.expect::<SockclntDelete>();
        assert_eq!(peer.next(), None, "a second message");
        left.send(()).expect("the test");
    });
    drop(Client::connect(socket.path(), AMPLE).expect("connect"));
    seen.recv_timeout(AMPLE).expect("the client does not wait indefinitely");
    server.join().expect("server");
}

#[test]
fn lost_connection_is_closed_without_shutdown() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut silent = Peer::greet(listener);
        silent.expect::<CreateLoopbackInstance>();
        assert_eq!(silent.next(), None, "no caller waits for an answer to it");
    });
    let mut client = Client::connect(socket.path(), SHORT).expect("connect");
    client.send(&loopback()).expect_err("silent");
    drop(client);
    server.join().expect("server");
}

#[test]
fn empty_batch_sends_nothing() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        Peer::greet(listener).expect_shutdown();
    });
    let mut client = Client::connect(socket.path(), AMPLE).expect("connect");
    client.send(&Batch::new()).expect("nothing to answer");
    drop(client);
    server.join().expect("server");
}
