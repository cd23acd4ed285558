//! The handshake of the async session against peers that do not complete it.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use crate::common::scripted::{Peer, Socket, table};
use crate::common::{AMPLE, SHORT, loopback};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use usnet_vpp::asynchronous::{Options, Session, State};
use usnet_vpp::messages::*;
use usnet_vpp::{Api, Error, Message, ReplyError};

/// Returns the first reason after the start of the session.
async fn first_reason(session: &Session) -> Arc<Error> {
    let mut states = session.states();
    let is_reason = |state: &State| matches!(state, State::Disconnected { reason } if !matches!(**reason, Error::NotYetConnected { .. }));
    let state = tokio::time::timeout(AMPLE, states.wait_for(is_reason)).await.expect("in time");
    match state.expect("the session lives").clone() {
        State::Disconnected { reason } => reason,
        State::Connected(connected) => panic!("{connected:?}"),
    }
}

/// Drops the session while the server waits for its end.
async fn end(session: Session, server: JoinHandle<()>) {
    drop(session);
    tokio::task::spawn_blocking(|| server.join().expect("server")).await.expect("no panic");
}

#[tokio::test]
async fn requests_fail_at_once_until_the_handshake_is_complete() {
    let socket = Socket::new();
    let (greet, greeted) = mpsc::channel::<()>();
    let server = socket.serve(move |listener| {
        greeted.recv().expect("the test");
        let mut peer = Peer::greet_session(listener);
        let context = peer.expect::<CreateLoopbackInstance>();
        peer.reply(context, &CreateLoopbackInstanceReply::default());
        peer.expect_shutdown();
    });
    let session = Session::start(Options::new(socket.path()));
    let error = session.handle().send(&loopback()).await.expect_err("no table yet");
    let Error::NotSent { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**source, Error::NotYetConnected { .. }), "{source}");
    assert!(!session.handle().supports::<ControlPing>());
    greet.send(()).expect("server");
    session.connected().await.expect("connected");
    assert!(session.handle().supports::<ControlPing>());
    session.handle().send(&loopback()).await.expect("answers");
    end(session, server).await;
}

#[tokio::test]
async fn refused_subscription_is_the_reason_and_ends_the_connection_orderly() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::greet(listener);
        peer.answer_opening(&WantInterfaceEventsReply { retval: -1 });
        peer.expect_shutdown();
    });
    let session = Session::start(Options::new(socket.path()));
    let reason = first_reason(&session).await;
    let Error::Refused { source, .. } = &*reason else { panic!("{reason:?}") };
    assert!(matches!(source, ReplyError::Refused { message: "want_interface_events", .. }), "{source}");
    assert!(!session.handle().supports::<ControlPing>(), "it was never connected");
    end(session, server).await;
}

#[tokio::test]
async fn vpp_without_interface_events_is_unsupported_and_left_orderly() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut table = table();
        table.message_table.0.retain(|entry| entry.name.as_str() != SwInterfaceEvent::NAME_CRC);
        Peer::greet_with(listener, &table).expect_shutdown();
    });
    let session = Session::start(Options::new(socket.path()));
    let reason = first_reason(&session).await;
    assert!(matches!(*reason, Error::Unsupported { message: "sw_interface_event", .. }), "{reason}");
    end(session, server).await;
}

/// The new VPP must not be mistaken for the VPP that created the socket before.
#[tokio::test]
async fn vpp_that_starts_during_the_handshake_is_connected_to_anew() {
    let socket = Socket::new();
    let path = socket.path();
    let server = socket.serve(move |listener| {
        let mut peer = Peer::greet(listener);
        std::fs::remove_file(&path).expect("remove");
        let successor = UnixListener::bind(&path).expect("bind");
        peer.answer_opening(&WantInterfaceEventsReply::default());
        peer.expect_shutdown();
        Peer::greet_session(&successor).expect_shutdown();
    });
    let session = Session::start(Options::new(socket.path()));
    let reason = first_reason(&session).await;
    assert!(matches!(*reason, Error::Replaced { .. }), "{reason}");
    let connected = session.connected().await.expect("connected");
    assert_eq!((connected.epoch, connected.restarted), (1, false));
    end(session, server).await;
}

#[tokio::test]
async fn vpp_that_hangs_during_the_handshake_is_left_without_a_last_request() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::greet(listener);
        let requests = std::iter::from_fn(|| peer.next()).count();
        assert_eq!(requests, 3, "the handshake and nothing more");
    });
    let session = Session::start(Options { timeout: SHORT, ..Options::new(socket.path()) });
    let reason = first_reason(&session).await;
    assert!(matches!(*reason, Error::Timeout { request: "control_ping", limit: SHORT, .. }), "{reason}");
    end(session, server).await;
}
