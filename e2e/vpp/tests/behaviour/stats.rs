//! Counters in shared memory.

use crate::{Fixture, on_each};
use std::time::{Duration, Instant};
use usnet_test_vpp::Kind;
use usnet_vpp::Batch;
use usnet_vpp::messages::DeleteLoopback;
use usnet_vpp::stats::{Combined, Reader, Snapshot, StatsError};

const TIMEOUT: Duration = Duration::from_secs(10);
const NO_FREE_SLOTS: &str = "/err/memif5/0-tx/no_free_slots";

fn reader(vpp: &Fixture) -> Reader {
    Reader::new(vpp.vpp.folder().join("stats.sock"), TIMEOUT, |name| {
        name.starts_with("/if/") || name.starts_with("/err/memif")
    })
}

fn read(reader: &mut Reader) -> Snapshot {
    reader.read().expect("counters")
}

fn memif(vpp: &mut Fixture) -> u32 {
    let path = vpp.path("m.sock");
    vpp.add_socket(5, &path).expect("socket");
    vpp.create_memif(5, 0).expect("memif")
}

#[test]
fn each_interface_has_counters_that_start_at_zero() {
    on_each(|vpp| {
        let mut reader = reader(vpp);
        let before = read(&mut reader);
        assert_eq!((before.simple("/if/drops", 0), before.simple("/if/drops", 1)), (Some(0), None), "local0 alone");
        let index = memif(vpp);
        let snapshot = read(&mut reader);
        for entry in ["/if/rx", "/if/tx"] {
            assert_eq!(snapshot.combined(entry, index), Some(Combined::default()), "{entry}");
        }
        for entry in ["/if/drops", "/if/rx-error", "/if/tx-error", "/if/rx-no-buf", "/if/rx-miss"] {
            assert_eq!(snapshot.simple(entry, index), Some(0), "{entry}");
        }
        assert_eq!(snapshot.simple(NO_FREE_SLOTS, 0), Some(0));
    });
}

#[test]
fn the_epoch_shows_that_interfaces_came_or_went() {
    on_each(|vpp| {
        let mut reader = reader(vpp);
        let before = read(&mut reader);
        assert!(reader.is_current(&before).expect("answer"));
        let index = memif(vpp);
        assert!(!reader.is_current(&before).expect("answer"), "an interface more");
        let with = read(&mut reader);
        assert!(with.epoch() > before.epoch() && reader.is_current(&with).expect("answer"));
        vpp.delete_memif(index).expect("deleted");
        assert!(!reader.is_current(&with).expect("answer"), "an interface less");
    });
}

#[test]
fn errors_are_counted_under_the_name_of_the_interface_that_is_there() {
    on_each(|vpp| {
        let mut reader = reader(vpp);
        let index = memif(vpp);
        vpp.delete_memif(index).expect("deleted");
        assert_eq!(read(&mut reader).simple(NO_FREE_SLOTS, 0), None, "it went with its interface");
        // VPP reuses the graph nodes of the first interface.
        let path = vpp.path("other.sock");
        vpp.add_socket(6, &path).expect("socket");
        assert_eq!(vpp.create_memif(6, 0), Ok(index));
        let snapshot = read(&mut reader);
        let name = NO_FREE_SLOTS.replace("memif5", "memif6");
        assert_eq!((snapshot.simple(NO_FREE_SLOTS, 0), snapshot.simple(&name, 0)), (None, Some(0)));
    });
}

#[test]
fn counters_of_many_interfaces_are_read_while_more_are_made() {
    on_each(|vpp| {
        let mut reader = reader(vpp);
        for number in 1..=40 {
            assert_eq!(vpp.loopback(), number);
            let snapshot = read(&mut reader);
            assert!(snapshot.combined("/if/tx", number).is_some() && snapshot.combined("/if/tx", number + 1).is_none());
        }
        vpp.request(DeleteLoopback { sw_if_index: 40 }).expect("deleted");
        assert_eq!(read(&mut reader).combined("/if/tx", 39), Some(Combined::default()));
    });
}

/// Returns the CPU time of this thread, which does not contain the simulator's.
fn cpu_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock").into()
}

#[test]
fn counters_of_a_thousand_interfaces() {
    on_each(|vpp| {
        let path = vpp.path("m.sock");
        vpp.add_socket(5, &path).expect("socket");
        let mut batch = Batch::new();
        let made: Vec<_> = (0..1000).map(|id| batch.request(crate::memif(5, id))).collect();
        let answers = vpp.client.send(&batch).expect("answers");
        let indexes: Vec<u32> =
            made.into_iter().map(|ticket| answers.reply(ticket).expect("memif").sw_if_index).collect();
        let mut reader = reader(vpp);
        for what in ["with the directory", "in the same epoch"] {
            let (start, start_of_thread) = (Instant::now(), cpu_time());
            let snapshot = read(&mut reader);
            let (took, cpu) = (start.elapsed(), cpu_time() - start_of_thread);
            println!("{}: counters of 1,000 interfaces {what}: {cpu:?} CPU, {took:?}", vpp.vpp.kind());
            for (id, index) in (0..1000).zip(&indexes) {
                assert!(snapshot.combined("/if/rx", *index).is_some());
                assert_eq!(snapshot.simple(&format!("/err/memif5/{id}-tx/no_free_slots"), 0), Some(0));
            }
        }
    });
}

#[test]
fn the_counters_of_a_vpp_that_ended_are_not_read() {
    on_each(|vpp| {
        let mut reader = reader(vpp);
        memif(vpp);
        let before = read(&mut reader);
        vpp.vpp.kill().expect("kill");
        assert!(matches!(reader.read(), Err(StatsError::Connect { .. })));
        vpp.vpp.start_again().expect("start");
        assert!(!reader.is_current(&before).expect("answer"), "other memory, whatever its epoch");
        assert_eq!(read(&mut reader).simple(NO_FREE_SLOTS, 0), None);
        vpp.client = vpp.vpp.client().expect("client");
    });
}

#[test]
fn a_vpp_that_hangs_is_waited_for_no_longer_than_it_may_take() {
    on_each(|vpp| {
        vpp.vpp.pause().expect("pause");
        let socket = reader(vpp).socket().to_owned();
        let mut reader = Reader::new(socket, Duration::from_millis(50), |_| true);
        assert!(matches!(reader.read(), Err(StatsError::Connect { .. })));
        vpp.vpp.resume().expect("resume");
        assert!(read(&mut self::reader(vpp)).simple("/if/drops", 0).is_some());
    });
}

#[test]
fn the_simulator_counts_what_it_is_told() {
    let mut vpp = Fixture::start(Kind::Simulator);
    let index = memif(&mut vpp);
    let simulator = vpp.vpp.simulator().expect("it is one");
    simulator.count("/if/rx", index, 3, 192);
    simulator.count("/if/rx", index, 1, 64);
    simulator.count_packets("/if/drops", index, 2);
    simulator.count_errors(NO_FREE_SLOTS, 7);
    let mut reader = reader(&vpp);
    let snapshot = read(&mut reader);
    assert_eq!(snapshot.combined("/if/rx", index), Some(Combined { packets: 4, bytes: 256 }));
    assert_eq!((snapshot.simple("/if/drops", index), snapshot.simple(NO_FREE_SLOTS, 0)), (Some(2), Some(7)));
    vpp.delete_memif(index).expect("deleted");
    assert_eq!(memif(&mut vpp), index);
    let snapshot = read(&mut reader);
    assert_eq!(snapshot.combined("/if/rx", index), Some(Combined::default()), "the next one starts at 0");
    assert_eq!(snapshot.simple(NO_FREE_SLOTS, 0), Some(0));
}
