use super::*;
use crate::attachment::Progress;
use crate::testing::{attachment, network, record, roots};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

const STATE_VARIABLE: &str = "USNET_TEST_STATE";

fn sample(container: &str) -> Record {
    record(container, &network("blue"))
}

#[test]
fn a_record_comes_back_as_it_was_until_it_is_removed() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    assert_eq!(locked.read().unwrap(), None);
    for progress in [Progress::Attaching, Progress::Attached, Progress::Detaching] {
        let written = Record { progress, ..sample("c1") };
        locked.write(&written).unwrap();
        assert_eq!(locked.read().unwrap(), Some(written.clone()));
        assert_eq!(journal.records().unwrap().records, [written]);
    }
    locked.remove().unwrap();
    locked.remove().unwrap();
    assert_eq!(locked.read().unwrap(), None);
    assert!(journal.records().unwrap().records.is_empty());
}

#[test]
fn what_cannot_be_read_is_named_and_does_not_hide_the_rest() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    journal.lock(&attachment("good")).unwrap().write(&sample("good")).unwrap();
    let text = fs::read_to_string(roots.attachments().join("good.net1.json")).unwrap();
    fs::write(roots.attachments().join("copied.net1.json"), &text).unwrap();
    fs::write(roots.attachments().join("newer.net1.json"), text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    fs::write(roots.attachments().join("torn.net1.json"), &text[..text.len() / 2]).unwrap();

    let Records { records, unreadable } = journal.records().unwrap();
    assert_eq!(records, [sample("good")]);
    let messages: Vec<_> = unreadable.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].contains("copied.net1.json is about attachment good.net1"), "{}", messages[0]);
    assert!(messages[1].contains("newer.net1.json has layout 2 and this release of usnet knows 1"), "{}", messages[1]);
    assert!(messages[2].contains("torn.net1.json does not hold"), "{}", messages[2]);
    let torn = journal.lock(&attachment("torn")).unwrap().read();
    assert!(matches!(torn, Err(Error::Document(document::Error::Invalid { .. }))), "{torn:?}");
}

#[test]
fn a_record_cannot_be_written_under_the_lock_of_another() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    assert!(journal.lock(&attachment("c1")).unwrap().write(&sample("c2")).is_err());
    assert!(journal.records().unwrap().records.is_empty());
}

#[test]
fn a_lock_holds_for_its_attachment_alone_and_through_removal_of_the_record() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    locked.write(&sample("c1")).unwrap();
    locked.remove().unwrap();
    assert!(matches!(journal.try_lock(&attachment("c1")), Err(Error::Busy(id)) if id == attachment("c1")));
    assert!(journal.try_lock(&attachment("c2")).is_ok());
    drop(locked);
    assert!(journal.try_lock(&attachment("c1")).is_ok());
}

/// Each thread reads a number, adds one and writes it back; without the lock some additions get lost.
#[test]
fn threads_take_turns() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 25;
    let (_folder, roots) = roots();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let journal = Journal::open(&roots).unwrap();
                for _ in 0..ROUNDS {
                    let locked = journal.lock(&attachment("c1")).unwrap();
                    let count: usize = locked.read().unwrap().map_or(0, |record| record.mac.parse().unwrap());
                    locked.write(&Record { mac: (count + 1).to_string(), ..sample("c1") }).unwrap();
                }
            });
        }
    });
    let records = Journal::open(&roots).unwrap().records().unwrap().records;
    assert_eq!(records[0].mac, (THREADS * ROUNDS).to_string());
}

/// Another process that runs one of the `child_*` tests below and has printed its first line.
fn child(test: &str, roots: &Roots) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", &format!("journal::tests::{test}")])
        .env(STATE_VARIABLE, &roots.state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap().contains("ready"));
    assert!(ready, "{test} ended early");
    child
}

fn childs_journal() -> Journal {
    let state = PathBuf::from(std::env::var_os(STATE_VARIABLE).unwrap());
    Journal::open(&Roots { state, ..Roots::from_environment() }).unwrap()
}

#[test]
#[ignore = "started by a_killed_process_frees_its_lock"]
fn child_holds_a_lock() {
    let _locked = childs_journal().lock(&attachment("c1")).unwrap();
    println!("ready");
    thread::park();
}

#[test]
fn a_killed_process_frees_its_lock() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    let mut child = child("child_holds_a_lock", &roots);
    assert!(matches!(journal.try_lock(&attachment("c1")), Err(Error::Busy(_))));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(journal.try_lock(&attachment("c1")).is_ok());
}

#[test]
#[ignore = "started by a_writer_killed_at_any_moment_leaves_a_whole_record"]
fn child_writes_without_end() {
    let journal = childs_journal();
    println!("ready");
    for number in 0_u64.. {
        let locked = journal.lock(&attachment("c1")).unwrap();
        let addresses = vec![sample("c1").addresses[0]; (number % 500) as usize];
        locked.write(&Record { addresses, ..sample("c1") }).unwrap();
    }
}

#[test]
fn a_writer_killed_at_any_moment_leaves_a_whole_record() {
    let (_folder, roots) = roots();
    let journal = Journal::open(&roots).unwrap();
    journal.lock(&attachment("c1")).unwrap().write(&sample("c1")).unwrap();
    for round in 0..20 {
        let mut child = child("child_writes_without_end", &roots);
        // Reading goes on beside the writer, a different number of times before each kill.
        for _ in 0..=round {
            let read = journal.records().unwrap();
            assert_eq!((read.records.len(), read.unreadable.len()), (1, 0), "{read:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(journal.try_lock(&attachment("c1")).unwrap().read().unwrap().is_some());
    }
    let locked = journal.lock(&attachment("c1")).unwrap();
    locked.remove().unwrap();
    let left: Vec<_> = fs::read_dir(roots.attachments()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [LOCK_FILE], "what the killed writers began is left");
}
