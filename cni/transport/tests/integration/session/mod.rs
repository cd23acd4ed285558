//! Sessions with a scripted server.

mod lines;

use lines::{AMPLE, Connected, Context, EMPTY, Error, Lines, SHORT, Server, UNKNOWN};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use usnet_transport::TransferError;
use usnet_transport::asynchronous::{Caller, Failure, State};

type Waits = Caller<Lines<false>>;
type Refuses = Caller<Lines<true>>;

async fn epoch(caller: &Waits, epoch: u64) -> Connected {
    let mut state = caller.state();
    let is_it = |state: &State<Connected, _>| state.connected().is_some_and(|connected| connected.epoch == epoch);
    let found = timeout(AMPLE, state.wait_for(is_it)).await.expect("in time").expect("the session lives");
    *found.connected().expect("connected")
}

/// Waits until the session is disconnected for a reason that `matches`.
async fn until_disconnected(caller: &Waits, matches: impl Fn(&Error) -> bool) {
    let mut state = caller.state();
    let is_it = |state: &State<Connected, Arc<Error>>| match state {
        State::Disconnected { reason } => matches(reason),
        State::Connected(_) => false,
    };
    drop(timeout(AMPLE, state.wait_for(is_it)).await.expect("in time").expect("the session lives"));
}

#[tokio::test]
async fn requests_wait_while_a_connection_is_opened_or_fail_at_once() {
    let (server, context) = (Server::new(), Arc::new(Context::default()));
    let (waits, _task): (Waits, _) = server.session(&context);
    let mut peer = server.accept().await;
    let call = waits.call("a".to_owned());
    let (answer, ()) = tokio::join!(call, async {
        sleep(SHORT).await;
        peer.write(&["welcome"]).await;
        assert_eq!(peer.read().await, "a");
        peer.write(&["0 b"]).await;
    });
    assert_eq!(answer.expect("an answer"), "b");

    let server = Server::new();
    let (refuses, _task): (Refuses, _) = server.session(&context);
    let mut peer = server.accept().await;
    let error = refuses.call("a".to_owned()).await.expect_err("not yet open");
    let Error::Session(Failure::NotSent(reason)) = &error else { panic!("{error:?}") };
    assert!(matches!(**reason, Error::Session(Failure::NotYetConnected)), "{reason:?}");
    peer.write(&["welcome"]).await;
    refuses.connected().await.expect("connected");
    let (answer, ()) = tokio::join!(refuses.call("c".to_owned()), async {
        assert_eq!(peer.read().await, "c", "the refused request was not sent");
        peer.write(&["0 d"]).await;
    });
    assert_eq!(answer.expect("an answer"), "d");
}

// With two threads, an answer that is delivered before the state is published would be detected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_published_before_the_answers_that_came_with_them() {
    let server = Server::new();
    let (caller, _task): (Waits, _) = server.session(&Arc::new(Context::default()));
    let mut peer = server.welcome().await;
    let served = tokio::spawn(async move {
        for number in 0..200 {
            peer.read().await;
            peer.write(&[&format!("{number} x"), "changed"]).await;
        }
        peer
    });
    for number in 1..=200 {
        caller.call("a".to_owned()).await.expect("an answer");
        let changes = caller.state().borrow().connected().expect("connected").changes;
        assert_eq!(changes, number);
    }
    drop(served.await.expect("server"));
}

#[tokio::test]
async fn only_connections_that_were_open_are_counted_and_remembered() {
    let (server, context) = (Server::new(), Arc::new(Context::default()));
    let (caller, _task): (Waits, _) = server.session(&context);
    for number in 1..=2 {
        let mut never_open = server.accept().await;
        never_open.write(&["changed"]).await;
        drop(never_open);
        until_disconnected(&caller, |reason| !matches!(reason, Error::Session(Failure::NotYetConnected))).await;
        assert_eq!(context.disconnected.lock().expect("no panic").len() + 1, number);
        let _open = server.welcome().await;
        assert_eq!(epoch(&caller, u64::try_from(number).expect("few")).await.changes, 0);
    }
    server.accept().await;
    assert_eq!(*context.disconnected.lock().expect("no panic"), [1, 2]);
}

#[tokio::test]
async fn request_without_answer_in_time_ends_the_connection_for_all_callers() {
    let server = Server::new();
    let context = Arc::new(Context { answer_within: Some(SHORT), ..Context::default() });
    let (caller, _task): (Waits, _) = server.session(&context);
    let _peer = server.welcome().await;
    let (first, second) = tokio::join!(caller.call("a".to_owned()), caller.call("b".to_owned()));
    for answer in [first, second] {
        let error = answer.expect_err("no answer");
        let Error::Session(Failure::AnswerLost(reason)) = &error else { panic!("{error:?}") };
        let expected = Failure::Transfer { request: "a line", error: TransferError::Timeout { limit: SHORT } };
        assert_eq!(format!("{reason:?}"), format!("{:?}", Error::Session(expected)));
    }
    server.accept().await;
}

#[tokio::test]
async fn silent_server_is_probed_and_then_left() {
    let server = Server::new();
    let context = Arc::new(Context { probe_after: SHORT, ..Context::default() });
    let (caller, _task): (Waits, _) = server.session(&context);
    let mut peer = server.accept().await;
    for _ in 0..3 {
        assert_eq!(peer.read().await, "probe", "also before it is open");
        peer.write(&["changed"]).await;
    }
    assert_eq!((peer.read().await.as_str(), peer.read().await.as_str()), ("probe", ""));
    until_disconnected(&caller, |reason| matches!(reason, Error::Silent)).await;
}

#[tokio::test]
async fn probe_that_is_a_request_has_the_time_of_one() {
    let server = Server::new();
    let (probe_after, answer_within) = (Duration::from_millis(5), Some(SHORT));
    let context = Arc::new(Context { probe_after, answer_within, ..Context::default() });
    let (caller, _task): (Waits, _) = server.session(&context);
    let mut peer = server.welcome().await;
    assert_eq!(peer.read().await, "probe");
    // Other data does not answer it.
    peer.write(&["changed"]).await;
    let late = |reason: &Error| {
        matches!(reason, Error::Session(Failure::Transfer { error: TransferError::Timeout { limit: SHORT }, .. }))
    };
    until_disconnected(&caller, late).await;
}

#[tokio::test]
async fn request_that_cannot_be_sent_or_needs_no_answer_leaves_the_connection_alone() {
    let server = Server::new();
    let (caller, _task): (Waits, _) = server.session(&Arc::new(Context::default()));
    let mut peer = server.welcome().await;
    let error = caller.call(UNKNOWN.to_owned()).await.expect_err("unknown");
    assert!(matches!(error, Error::Unknown), "{error:?}");
    assert_eq!(caller.call(EMPTY.to_owned()).await.expect("an answer"), "");
    let (answer, ()) = tokio::join!(caller.call("a".to_owned()), async {
        assert_eq!(peer.read().await, "a");
        peer.write(&["1 b"]).await;
    });
    assert_eq!(answer.expect("an answer"), "b");
}

#[tokio::test]
async fn requests_beyond_the_window_wait_and_those_of_cancelled_callers_make_room() {
    let server = Server::new();
    let (caller, _task): (Waits, _) = server.session(&Arc::new(Context::default()));
    let mut peer = server.welcome().await;
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|request| {
        let caller = caller.clone();
        tokio::spawn(async move { caller.call(request.to_owned()).await })
    });
    let mut sent = vec![peer.read().await, peer.read().await];
    let silence = timeout(SHORT, peer.read()).await;
    assert!(silence.is_err(), "a third request: {silence:?}");
    a.abort();
    b.abort();
    peer.write(&["changed"]).await;
    sent.extend([peer.read().await, peer.read().await]);
    assert_eq!(sent, ["a", "b", "c", "d"]);
    peer.write(&["0 late", "2 x", "3 y"]).await;
    for (call, answer) in [(c, "x"), (d, "y")] {
        assert_eq!(call.await.expect("no panic").expect("an answer"), answer);
    }
}

#[tokio::test]
async fn connection_is_closed_once_with_its_reason_or_with_none_when_the_session_ends() {
    let (server, context) = (Server::new(), Arc::new(Context::default()));
    let (caller, task): (Waits, _) = server.session(&context);
    drop(server.welcome().await);
    let mut peer = server.welcome().await;
    epoch(&caller, 2).await;
    drop(task);
    assert_eq!(peer.read().await, "", "closed");
    let closed = context.closed.lock().expect("no panic").clone();
    let [Some(reason), None] = &closed[..] else { panic!("{closed:?}") };
    assert!(reason.contains("Closed"), "{reason}");
    let error = timeout(AMPLE, caller.call("a".to_owned())).await.expect("in time").expect_err("ended");
    assert!(matches!(error, Error::Session(Failure::SessionEnded)), "{error:?}");
}

#[tokio::test]
async fn callers_get_the_reason_while_there_is_no_server_and_wait_no_longer_than_the_session() {
    let server = Server::new();
    let (caller, task): (Waits, _) = server.session(&Arc::new(Context::default()));
    drop(server);
    until_disconnected(&caller, |reason| matches!(reason, Error::Session(Failure::Connect(_)))).await;
    let error = caller.call("a".to_owned()).await.expect_err("no server");
    let Error::Session(Failure::NotSent(reason)) = &error else { panic!("{error:?}") };
    assert!(matches!(**reason, Error::Session(Failure::Connect(_))), "{reason:?}");
    drop(task);
    let error = timeout(AMPLE, caller.connected()).await.expect("in time").expect_err("ended");
    assert!(matches!(error, Error::Session(Failure::SessionEnded)), "{error:?}");
}
