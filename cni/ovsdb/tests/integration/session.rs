//! The async session against a real `ovsdb-server`.

use crate::common::{AMPLE, create_bridge, database, insert_bridge, named, select};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use usnet_ovsdb::asynchronous::{Handle, Options, Session, Snapshot, State};
use usnet_ovsdb::{Bridge, Database, Error, ErrorCode, Mutation, Port, Row, Transaction, Value};

async fn until(state: &mut watch::Receiver<State>, condition: impl FnMut(&State) -> bool) -> State {
    let found = tokio::time::timeout(AMPLE, state.wait_for(condition)).await;
    found.expect("in time").expect("the session lives").clone()
}

fn bridge_names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.cache.bridges().expect("bridges").into_iter().map(|bridge| bridge.name).collect()
}

// With two threads, an answer that is delivered before the copy is published would be detected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_has_the_effect_when_the_answer_arrives() {
    let (openvswitch, _client) = database();
    let session = Session::start(Options::new(openvswitch.socket()));
    session.connected().await.expect("connected");
    let mut handle = session.handle();
    for number in 0..200 {
        let name = format!("br{number}");
        let mut transaction = Transaction::new();
        let bridge = insert_bridge(&mut transaction, &name);
        let reply = Database::transact(&mut handle, &transaction).await.expect("a reply");
        let state = session.state().borrow().clone();
        let cache = &state.connected().expect("connected").cache;
        let row = cache.row::<Bridge>(reply.inserted(bridge).expect("the bridge")).expect("a bridge");
        assert_eq!(row.map(|row| row.name), Some(name));
    }
}

#[tokio::test]
async fn transaction_right_after_the_start_waits_for_the_copy() {
    let (openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let session = Session::start(Options::new(openvswitch.socket()));
    let mut transaction = Transaction::new();
    insert_bridge(&mut transaction, "br1");
    session.transact(&transaction).await.expect("a reply");
    let state = session.state().borrow().clone();
    assert_eq!(bridge_names(state.connected().expect("connected")).len(), 2);
}

#[tokio::test]
async fn copy_equals_the_database_after_many_changes() {
    let (openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let session = Session::start(Options::new(openvswitch.socket()));
    session.connected().await.expect("connected");
    for step in 0_u16..100 {
        let mut transaction = Transaction::new();
        let (key, value) = (format!("k{}", step % 5), format!("{}", step % 3));
        let mutation = match step % 7 {
            0 => Mutation::delete("external_ids", Value::set([&key])),
            1 => Mutation::delete("trunks", Value::set([step % 11, step % 4])),
            2..=4 => Mutation::insert("trunks", Value::set([step % 11, 100 + step % 2])),
            _ => Mutation::insert("external_ids", Value::map([(&key, &value)])),
        };
        let _one = transaction.mutate("Port", named("br0"), vec![mutation]);
        let tag = Value::from((step % 2 == 0).then_some(step));
        let _one = transaction.update("Port", named("br0"), Row::new().with("tag", tag));
        let expected = transaction.select_rows::<Port>(vec![]);
        let reply = session.transact(&transaction).await.expect("a reply");
        let snapshot = session.connected().await.expect("connected");
        assert_eq!(snapshot.cache.ports().expect("ports"), reply.rows(expected).expect("ports"), "step {step}");
    }
}

#[tokio::test]
async fn killed_server_is_reread_after_its_restart() {
    let (mut openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let session = Session::start(Options::new(openvswitch.socket()));
    let mut state = session.state();
    assert_eq!(session.connected().await.expect("connected").epoch, 1);

    openvswitch.kill_ovsdb_server().expect("kill");
    until(&mut state, |state| state.connected().is_none()).await;
    let error = session.transact(&Transaction::new()).await.expect_err("no server");
    assert!(matches!(error, Error::NotSent { .. }), "{error}");

    openvswitch.start_ovsdb_server().expect("start");
    let again = session.connected().await.expect("connected again");
    assert_eq!((again.epoch, bridge_names(&again)), (2, vec!["br0".to_owned()]));
    create_bridge(&mut client_of(&openvswitch), "br1");
    until(&mut state, |state| state.connected().is_some_and(|snapshot| bridge_names(snapshot).len() == 2)).await;
    assert_eq!(select::<Bridge>(&mut client_of(&openvswitch)).len(), 2);
}

fn client_of(openvswitch: &usnet_test_openvswitch::OpenVswitch) -> usnet_ovsdb::blocking::Client {
    usnet_ovsdb::blocking::Client::connect(openvswitch.socket(), AMPLE).unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn wait_blocks_no_other_request_and_its_loss_is_reported() {
    let (mut openvswitch, _client) = database();
    let session = Session::start(Options::new(openvswitch.socket()));
    session.connected().await.expect("connected");
    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(1, AMPLE);
    let handle = session.handle();
    let waiting = tokio::spawn(async move { handle.transact(&wait).await });
    let mut short = Transaction::new();
    short.wait_for_cur_cfg(1, Duration::from_millis(100));
    for _ in 0..3 {
        let error = session.transact(&short).await.expect_err("no vswitchd raises cur_cfg");
        assert_eq!(error.code(), Some(&ErrorCode::TimedOut));
    }
    assert!(!waiting.is_finished());
    openvswitch.kill_ovsdb_server().expect("kill");
    let error = waiting.await.expect("no panic").expect_err("lost");
    assert!(matches!(error, Error::AnswerLost { .. }), "{error}");
}

async fn many_at_once() {
    const TRANSACTIONS: usize = 5000;
    let (openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let session = Session::start(Options { timeout: AMPLE, ..Options::new(openvswitch.socket()) });
    session.connected().await.expect("connected");
    let mut tasks = JoinSet::new();
    for _ in 0..TRANSACTIONS {
        let handle: Handle = session.handle();
        tasks.spawn(async move {
            let mut transaction = Transaction::new();
            let raised = transaction.bump_next_cfg();
            transaction.comment("x".repeat(1000));
            handle.transact(&transaction).await.expect("a reply").next_cfg(raised).expect("next_cfg")
        });
    }
    let mut large = Transaction::new();
    large.comment("y".repeat(8 << 20));
    session.transact(&large).await.expect("a reply");
    let mut numbers = tasks.join_all().await;
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), TRANSACTIONS, "each transaction got its own answer");
}

#[tokio::test]
async fn many_at_once_on_one_thread() {
    many_at_once().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_on_two_threads() {
    many_at_once().await;
}

#[tokio::test]
async fn dropped_session_ends() {
    let (openvswitch, _client) = database();
    let session = Session::start(Options::new(openvswitch.socket()));
    let handle = session.handle();
    let mut state = session.state();
    session.connected().await.expect("connected");
    drop(session);
    let closed = tokio::time::timeout(AMPLE, async { while state.changed().await.is_ok() {} }).await;
    assert_eq!(closed, Ok(()), "the task still publishes");
    let error = handle.transact(&Transaction::new()).await.expect_err("the session has ended");
    assert!(matches!(error, Error::SessionEnded { .. }), "{error}");
}

#[tokio::test]
async fn silent_server_is_disconnected_and_retried() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("db.sock");
    let listener = tokio::net::UnixListener::bind(&path).expect("bind");
    let probe_after = Duration::from_millis(50);
    let session = Session::start(Options { probe_after, ..Options::new(&path) });
    let (_first, _) = tokio::time::timeout(AMPLE, listener.accept()).await.expect("in time").expect("accept");
    let (_second, _) = tokio::time::timeout(AMPLE, listener.accept()).await.expect("in time").expect("accept");
    let mut state = session.state();
    let State::Disconnected { reason } = until(&mut state, |state| state.connected().is_none()).await else {
        panic!("connected without a server");
    };
    assert!(matches!(*reason, Error::Timeout { request: "echo", .. }), "{reason}");
}

#[tokio::test]
async fn session_waits_for_a_server_that_is_not_started_yet() {
    let (mut openvswitch, _client) = database();
    openvswitch.kill_ovsdb_server().expect("kill");
    let session = Session::start(Options::new(openvswitch.socket()));
    let mut state = session.state();
    let refused =
        |state: &State| matches!(state, State::Disconnected { reason } if matches!(**reason, Error::Connect { .. }));
    until(&mut state, refused).await;
    openvswitch.start_ovsdb_server().expect("start");
    session.connected().await.expect("connected");
    let unknown = Session::start(Options { database: "nowhere", ..Options::new(openvswitch.socket()) });
    let is_unknown = |reason: &Arc<Error>| reason.code() == Some(&ErrorCode::UnknownDatabase);
    until(&mut unknown.state(), |state| matches!(state, State::Disconnected { reason } if is_unknown(reason))).await;
}
