//! Faults that the simulator injects on request; a real VPP has none.

use crate::Fixture;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use usnet_test_vpp::{Breakage, Fault, Kind, Moment, Simulator, Vpp};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{BridgeDomainDump, CreateLoopbackInstance, MemifCreateV2, MemifDump, ShowVersion};
use usnet_vpp::wire::Secret;
use usnet_vpp::{Api, Batch, Error, Remedy, ReturnCode};

fn simulated() -> Fixture {
    Fixture::start(Kind::Simulator)
}

fn simulator(vpp: &Vpp) -> &Simulator {
    vpp.simulator().expect("it is one")
}

fn make_loopback(vpp: &mut Fixture) -> Result<Result<u32, ReturnCode>, Error> {
    let made = vpp.try_request(CreateLoopbackInstance::default())?;
    Ok(made.map(|reply| reply.sw_if_index))
}

#[test]
fn nth_changing_message_is_refused_and_not_done() {
    let mut vpp = simulated();
    simulator(&vpp.vpp).fault(Fault::Fail { nth: 2, retval: -14 });
    assert_eq!(make_loopback(&mut vpp).expect("an answer"), Ok(1));
    vpp.dump(MemifDump {});
    assert_eq!(make_loopback(&mut vpp).expect("an answer"), Err(ReturnCode::SyscallError4));
    assert_eq!(make_loopback(&mut vpp).expect("an answer"), Ok(2));
}

#[test]
fn breakage_comes_before_or_after_the_message_is_done() {
    for (how, when, interfaces) in [
        (Breakage::Drop, Moment::Before, 2),
        (Breakage::Drop, Moment::After, 3),
        (Breakage::Restart, Moment::Before, 1),
        (Breakage::Restart, Moment::After, 1),
    ] {
        let mut vpp = simulated();
        vpp.loopback();
        simulator(&vpp.vpp).fault(Fault::Break { how, when, nth: 1 });
        assert!(make_loopback(&mut vpp).is_err(), "{how:?} {when:?}");
        assert!(vpp.vpp.is_running());
        assert_eq!(vpp.interfaces().len(), interfaces, "{how:?} {when:?}: the client connected again");
    }
}

#[test]
fn what_was_answered_before_a_breakage_comes() {
    let vpp = simulated();
    simulator(&vpp.vpp).fault(Fault::Break { how: Breakage::Drop, when: Moment::Before, nth: 3 });
    let mut raw = crate::raw::Raw::connect(&vpp.vpp);
    for context in 1..=3 {
        raw.send(context, &ShowVersion {});
    }
    assert_eq!((raw.next().is_some(), raw.next().is_some(), raw.next()), (true, true, None));
}

#[test]
fn dead_vpp_does_not_run_and_starts_again_empty() {
    let mut vpp = simulated();
    vpp.loopback();
    simulator(&vpp.vpp).fault(Fault::Break { how: Breakage::Die, when: Moment::After, nth: 1 });
    assert!(make_loopback(&mut vpp).is_err());
    assert!(!vpp.vpp.is_running());
    assert!(matches!(vpp.vpp.client(), Err(usnet_test_vpp::Error::Client(Error::Connect { .. }))));
    vpp.vpp.start_again().expect("start");
    assert_eq!(vpp.interfaces().len(), 1);
}

#[test]
fn hung_vpp_accepts_and_answers_when_it_is_well() {
    let vpp = Vpp::builder(Kind::Simulator).fault(Fault::Hang).start().expect("start");
    let short = Duration::from_millis(50);
    assert!(matches!(Client::connect(vpp.socket(), short), Err(Error::Timeout { .. })));
    let waiting = std::thread::spawn({
        let socket = vpp.socket().to_owned();
        move || Client::connect(socket, Duration::from_secs(30)).map(drop)
    });
    simulator(&vpp).clear_faults();
    waiting.join().expect("thread").expect("it answers");
}

#[test]
fn slow_vpp_answers() {
    let mut vpp = simulated();
    simulator(&vpp.vpp).fault(Fault::Slow(Duration::from_millis(40)));
    let start = std::time::Instant::now();
    vpp.request(ShowVersion {}).expect("an answer");
    assert!(start.elapsed() >= Duration::from_millis(40));
    simulator(&vpp.vpp).clear_faults();
    vpp.request(ShowVersion {}).expect("an answer");
}

#[test]
fn old_vpp_lacks_a_message_and_one_without_a_plugin_all_of_it() {
    let missing = Fault::Missing("memif_create_v2".to_owned());
    let old = Vpp::builder(Kind::Simulator).fault(missing).start().expect("start").client().expect("client");
    assert!(!old.supports::<MemifCreateV2>() && old.supports::<MemifDump>());
    let without = Vpp::builder(Kind::Simulator).without_plugin("memif_plugin.so").start().expect("start");
    let mut client = without.client().expect("client");
    let mut batch = Batch::new();
    batch.dump(MemifDump {});
    let remedy = Remedy::LoadPlugin("memif_plugin.so");
    assert!(matches!(client.send(&batch), Err(Error::Unsupported { remedy: reported, .. }) if reported == remedy));
}

#[test]
fn log_has_each_message_and_no_secret() {
    let mut vpp = simulated();
    let secret = Secret::new("topsecret").expect("fits");
    let asked = MemifCreateV2 { secret, id: 4711, ..MemifCreateV2::default() };
    vpp.request(asked.clone()).expect("memif");
    assert!(vpp.request(asked).is_err());
    vpp.dump(BridgeDomainDump::default());
    let log = simulator(&vpp.vpp).log();
    let reported: Vec<_> = log.iter().map(|entry| (entry.message, entry.changes, entry.retval)).collect();
    let expected = [
        ("memif_create_v2", true, Some(0)),
        ("memif_create_v2", true, Some(-68)),
        ("bridge_domain_dump", false, None),
        ("control_ping", false, Some(0)),
    ];
    assert_eq!(reported, expected);
    let file = std::fs::read_to_string(vpp.path("messages.log")).expect("the file");
    let lines: Vec<&str> = file.lines().collect();
    assert!(lines.first().is_some_and(|line| line.starts_with("changes memif_create_v2 0 ") && line.contains("4711")));
    assert_eq!(lines.len(), log.len());
    assert!(!file.contains("topsecret"));
}

#[test]
fn control_socket_takes_the_words_of_faults() {
    let mut vpp = simulated();
    let mut control = UnixStream::connect(vpp.path("control.sock")).expect("connect");
    let mut answers = BufReader::new(control.try_clone().expect("clone")).lines();
    let mut say = |words: &str| {
        control.write_all(format!("{words}\n").as_bytes()).expect("write");
        answers.next().expect("an answer").expect("read")
    };
    assert_eq!(say("fail 1 -14"), "ok");
    assert_eq!(make_loopback(&mut vpp).expect("an answer"), Err(ReturnCode::SyscallError4));
    assert!(say("explode").starts_with("error: "));
    assert_eq!((say("hang"), say("clear")), ("ok".to_owned(), "ok".to_owned()));
    vpp.loopback();
    assert_eq!(say("restart"), "ok");
    let mut fresh = vpp.vpp.client().expect("client");
    std::mem::swap(&mut vpp.client, &mut fresh);
    assert_eq!(vpp.interfaces().len(), 1);
    assert_eq!(say("die"), "ok");
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while vpp.vpp.is_running() {
        assert!(std::time::Instant::now() < end, "it runs");
        std::thread::yield_now();
    }
}
