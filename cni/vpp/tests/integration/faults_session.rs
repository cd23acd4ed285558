//! The async session against misbehaving peers, and against those that look like another VPP.

use crate::common::scripted::{PID, Peer, Socket};
use crate::common::{AMPLE, SHORT, loopback};
use std::io::Write;
use std::sync::mpsc;
use tokio::sync::watch;
use usnet_vpp::asynchronous::{Connected, Options, Session, State};
use usnet_vpp::messages::*;
use usnet_vpp::{Batch, Error};

async fn until(states: &mut watch::Receiver<State>, condition: impl FnMut(&State) -> bool) -> State {
    let found = tokio::time::timeout(AMPLE, states.wait_for(condition)).await;
    found.expect("in time").expect("the session lives").clone()
}

async fn epoch(states: &mut watch::Receiver<State>, epoch: u64) -> Connected {
    let state = until(states, |state| state.connected().is_some_and(|connected| connected.epoch == epoch)).await;
    state.connected().expect("connected").clone()
}

#[tokio::test]
async fn session_waits_for_a_vpp_that_is_not_started_yet() {
    let socket = Socket::new();
    let session = Session::start(Options::new(socket.path()));
    let mut states = session.states();
    let State::Disconnected { reason } = states.borrow_and_update().clone() else {
        panic!("connected without a server")
    };
    assert!(matches!(*reason, Error::NotYetConnected { .. }), "{reason}");
    let refused =
        |state: &State| matches!(state, State::Disconnected { reason } if matches!(**reason, Error::Connect { .. }));
    until(&mut states, refused).await;
    let error = session.handle().send(&loopback()).await.expect_err("no server");
    assert!(matches!(error, Error::NotSent { .. }), "{error}");
    let (ended, end) = mpsc::channel::<()>();
    let server = socket.serve(move |listener| {
        let _peer = Peer::greet_session(listener);
        let _ended = end.recv();
    });
    let connected = session.connected().await.expect("connected");
    assert_eq!((connected.version.as_str(), connected.instance.pid), ("26.06-scripted", PID));
    drop((session, ended));
    server.join().expect("server");
}

/// In a container the process has the same id each time, but the socket file differs.
#[tokio::test]
async fn lost_connection_is_distinguished_from_another_vpp_with_the_same_process_id() {
    let socket = Socket::new();
    let session = Session::start(Options::new(socket.path()));
    let mut states = session.states();
    let (lose, lost) = mpsc::channel::<()>();
    let server = socket.serve(move |listener| {
        for _ in 0..2 {
            let _peer = Peer::greet_session(listener);
            lost.recv().expect("the test");
        }
    });
    let first = epoch(&mut states, 1).await;
    lose.send(()).expect("server");
    let second = epoch(&mut states, 2).await;
    assert_eq!((second.restarted, second.instance), (false, first.instance));
    lose.send(()).expect("server");
    server.join().expect("server");

    let (ended, end) = mpsc::channel::<()>();
    let server = socket.serve(move |listener| {
        let _peer = Peer::greet_session(listener);
        let _ended = end.recv();
    });
    let third = epoch(&mut states, 3).await;
    assert_eq!((third.restarted, third.instance.pid), (true, first.instance.pid));
    drop((session, ended));
    server.join().expect("server");
}

#[tokio::test]
async fn silent_vpp_is_disconnected_and_retried() {
    let socket = Socket::new();
    let (ended, end) = mpsc::channel::<()>();
    let server = socket.serve(move |listener| {
        let _silent = [Peer::accept(listener), Peer::accept(listener)];
        let _peer = Peer::greet_session(listener);
        let _ended = end.recv();
    });
    let session = Session::start(Options { timeout: SHORT, ..Options::new(socket.path()) });
    let mut states = session.states();
    let silent = |state: &State| match state {
        State::Disconnected { reason } => matches!(**reason, Error::Timeout { request: "sockclnt_create", .. }),
        State::Connected(_) => false,
    };
    until(&mut states, silent).await;
    assert_eq!(epoch(&mut states, 1).await.epoch, 1);
    drop((session, ended));
    server.join().expect("server");
}

/// Changes are published before the answers that arrived with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_between_replies_are_counted() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::greet_session(listener);
        peer.reply(0, &SwInterfaceEvent::default());
        while let Some((_, context)) = peer.next() {
            peer.reply(0, &SwInterfaceEvent { pid: context, ..SwInterfaceEvent::default() });
            peer.reply(context, &ControlPingReply { vpe_pid: context, ..ControlPingReply::default() });
        }
    });
    let session = Session::start(Options::new(socket.path()));
    let mut states = session.states();
    let first = until(&mut states, |state| state.connected().is_some_and(|connected| connected.changes == 1)).await;
    assert_eq!(first.connected().map(|connected| connected.epoch), Some(1));
    for number in 1..=100 {
        let mut batch = Batch::new();
        let ping = batch.request(ControlPing {});
        let answers = session.handle().send(&batch).await.expect("answers");
        answers.reply(ping).expect("pong");
        let changes = states.borrow().connected().expect("connected").changes;
        assert_eq!(changes, 1 + number);
    }
    drop(session);
    server.join().expect("server");
}

#[tokio::test]
async fn lost_answers_are_reported_to_all_callers() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::greet_session(listener);
        peer.expect::<CreateLoopbackInstance>();
        peer.expect::<CreateLoopbackInstance>();
    });
    let session = Session::start(Options::new(socket.path()));
    session.connected().await.expect("connected");
    let (first, second) = (session.handle(), session.handle());
    let (batch_first, batch_second) = (loopback(), loopback());
    let (first, second) = tokio::join!(first.send(&batch_first), second.send(&batch_second));
    for answers in [first, second] {
        let error = answers.expect_err("closed");
        let Error::AnswerLost { source, .. } = &error else { panic!("{error:?}") };
        assert!(matches!(**source, Error::Closed { .. }), "{source}");
    }
    server.join().expect("server");
}

#[tokio::test]
async fn garbage_after_the_table_ends_the_connection_with_its_reason() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        let mut peer = Peer::greet_session(listener);
        peer.expect::<CreateLoopbackInstance>();
        peer.stream.write_all(&[0xff; 64]).expect("write");
        assert_eq!(peer.next(), None);
    });
    let session = Session::start(Options::new(socket.path()));
    session.connected().await.expect("connected");
    let error = session.handle().send(&loopback()).await.expect_err("garbage");
    let Error::AnswerLost { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**source, Error::Protocol { .. }), "{source}");
    server.join().expect("server");
}

/// The task is not polled any more when the runtime ends.
#[test]
fn session_shuts_down_cleanly_when_the_runtime_ends() {
    let socket = Socket::new();
    let server = socket.serve(|listener| Peer::greet_session(listener).expect_shutdown());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let session = runtime.block_on(async {
        let session = Session::start(Options::new(socket.path()));
        session.connected().await.expect("connected");
        session
    });
    drop(runtime);
    server.join().expect("server");
    drop(session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_disconnects_from_a_hanging_vpp() {
    let socket = Socket::new();
    let (left, seen) = mpsc::channel();
    let server = socket.serve(move |listener| {
        let mut peer = Peer::greet_session(listener);
        peer.expect::<SockclntDelete>();
        assert_eq!(peer.next(), None, "a second message");
        left.send(()).expect("the test");
    });
    let session = Session::start(Options::new(socket.path()));
    session.connected().await.expect("connected");
    drop(session);
    seen.recv_timeout(AMPLE).expect("the session does not wait indefinitely");
    server.join().expect("server");
}

#[tokio::test]
async fn dropped_session_ends() {
    let socket = Socket::new();
    let server = socket.serve(|listener| {
        Peer::greet_session(listener).expect_shutdown();
    });
    let session = Session::start(Options::new(socket.path()));
    session.connected().await.expect("connected");
    let handle = session.handle();
    drop(session);
    let error = handle.send(&loopback()).await.expect_err("the session has ended");
    assert!(matches!(error, Error::SessionEnded { .. }), "{error}");
    tokio::task::spawn_blocking(|| server.join().expect("server")).await.expect("no panic");
}
