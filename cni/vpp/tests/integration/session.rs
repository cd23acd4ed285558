//! The async session against a real VPP.

use crate::common::{AMPLE, Vpp, all_interfaces, loopback};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use usnet_vpp::asynchronous::{Connected, Handle, Options, Session, State};
use usnet_vpp::messages::*;
use usnet_vpp::wire::Text;
use usnet_vpp::{Api, Batch, Error, ReplyError, ReturnCode};

async fn until(states: &mut watch::Receiver<State>, condition: impl FnMut(&State) -> bool) -> State {
    let found = tokio::time::timeout(AMPLE, states.wait_for(condition)).await;
    found.expect("in time").expect("the session lives").clone()
}

async fn until_connected(
    states: &mut watch::Receiver<State>,
    mut condition: impl FnMut(&Connected) -> bool,
) -> Connected {
    let state = until(states, |state| state.connected().is_some_and(&mut condition)).await;
    state.connected().expect("connected").clone()
}

#[tokio::test]
async fn identifies_vpp_and_counts_its_changes() {
    let Some(vpp) = Vpp::start() else { return };
    let session = Session::start(Options::new(vpp.socket()));
    let mut states = session.states();
    let first = session.connected().await.expect("connected");
    assert_eq!((first.epoch, first.changes, first.restarted, first.instance.pid), (1, 0, false, vpp.pid()));
    assert!(first.version.starts_with("2"), "{}", first.version);

    let mut handle = session.handle();
    assert!(handle.supports::<MemifCreateV2>());
    let mut batch = Batch::new();
    let created = batch.request(CreateLoopbackInstance::default());
    let missing = batch.request(DeleteLoopback { sw_if_index: 999 });
    let answers = Api::send(&mut handle, &batch).await.expect("answers");
    let sw_if_index = answers.reply(created).expect("created").sw_if_index;
    let code = ReturnCode::InvalidSwIfIndex;
    assert_eq!(answers.reply(missing), Err(ReplyError::Refused { message: "delete_loopback", code }));
    let created = until_connected(&mut states, |connected| connected.changes > 0).await.changes;

    let mut batch = Batch::new();
    batch.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    handle.send(&batch).await.expect("answers");
    until_connected(&mut states, |connected| connected.changes > created).await;
    assert_eq!(session.connected().await.map(|connected| connected.epoch).ok(), Some(1));
}

#[tokio::test]
async fn killed_vpp_is_another_instance_after_its_restart() {
    let Some(mut vpp) = Vpp::start() else { return };
    let session = Session::start(Options::new(vpp.socket()));
    let mut states = session.states();
    let first = session.connected().await.expect("connected");
    vpp.kill();
    until(&mut states, |state| state.connected().is_none()).await;
    let error = session.handle().send(&loopback()).await.expect_err("no server");
    assert!(matches!(error, Error::NotSent { .. }), "{error}");
    assert!(session.handle().supports::<MemifCreateV2>(), "the last one did");
    vpp.start_again();
    let second = session.connected().await.expect("connected again");
    assert_eq!((second.epoch, second.restarted, second.changes), (2, true, 0));
    assert_ne!(second.instance, first.instance);
    session.handle().send(&loopback()).await.expect("answers");
}

/// A stopped VPP accepts connections and never answers.
#[tokio::test]
async fn hung_vpp_is_disconnected_and_is_the_same_instance_when_it_resumes() {
    let Some(vpp) = Vpp::start() else { return };
    let timeout = Duration::from_millis(300);
    let session = Session::start(Options { timeout, ..Options::new(vpp.socket()) });
    let mut states = session.states();
    let first = session.connected().await.expect("connected");
    vpp.pause();
    let error = session.handle().send(&loopback()).await.expect_err("it hangs");
    let Error::AnswerLost { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**source, Error::Timeout { request: "create_loopback_instance", .. }), "{source}");
    let hangs = |state: &State| match state {
        State::Disconnected { reason } => matches!(**reason, Error::Timeout { request: "sockclnt_create", .. }),
        State::Connected(_) => false,
    };
    until(&mut states, hangs).await;
    vpp.resume();
    let second = session.connected().await.expect("connected again");
    assert_eq!((second.epoch, second.restarted, second.instance), (2, false, first.instance));
}

/// The hang is detected without any request.
#[tokio::test]
async fn vpp_that_hangs_while_idle_is_detected() {
    let Some(vpp) = Vpp::start() else { return };
    let times = Duration::from_millis(300);
    let session = Session::start(Options { timeout: times, probe_after: times, ..Options::new(vpp.socket()) });
    let mut states = session.states();
    session.connected().await.expect("connected");
    vpp.pause();
    let State::Disconnected { reason } = until(&mut states, |state| state.connected().is_none()).await else {
        panic!("still connected")
    };
    assert!(matches!(*reason, Error::Timeout { request: "control_ping", .. }), "{reason}");
}

async fn many_at_once() {
    const BATCHES: u32 = 500;
    let Some(vpp) = Vpp::start() else { return };
    let session = Session::start(Options::new(vpp.socket()));
    session.connected().await.expect("connected");
    let mut tasks = JoinSet::new();
    for _ in 0..BATCHES {
        let handle: Handle = session.handle();
        tasks.spawn(async move {
            let mut batch = Batch::new();
            let created = batch.request(CreateLoopbackInstance::default());
            batch.request(CliInband { cmd: Text::from("show interface") });
            let dump = batch.dump(all_interfaces());
            let answers = handle.send(&batch).await.expect("answers");
            let sw_if_index = answers.reply(created).expect("created").sw_if_index;
            let found = answers.details(dump).expect("interfaces");
            assert!(found.iter().any(|interface| interface.sw_if_index == sw_if_index));
            sw_if_index
        });
    }
    let mut indexes = tasks.join_all().await;
    indexes.sort_unstable();
    assert_eq!(indexes, (1..=BATCHES).collect::<Vec<u32>>(), "each batch got its own answers");
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
async fn missing_message_is_reported_to_its_caller_only() {
    let Some(vpp) = Vpp::start_without(&["memif_plugin.so", "vhost_plugin.so"]) else { return };
    let session = Session::start(Options::new(vpp.socket()));
    session.connected().await.expect("connected");
    let mut batch = Batch::new();
    batch.dump(MemifDump {});
    let error = session.handle().send(&batch).await.expect_err("no memif");
    assert!(matches!(error, Error::Unsupported { plugin: Some("memif_plugin.so"), .. }), "{error}");
    session.handle().send(&loopback()).await.expect("answers");
    assert_eq!(session.connected().await.map(|connected| connected.epoch).ok(), Some(1));
}
