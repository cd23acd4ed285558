use super::*;
use crate::model::attachment::Progress;
use crate::testing::{attachment, network, node_paths, record};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

const STATE_VARIABLE: &str = "USNET_TEST_STATE";

fn try_lock(journal: &Journal, container: &str) -> Option<LockedAttachment> {
    journal.try_lock_all([&attachment(container)]).unwrap().locked.pop()
}

fn sample(container: &str) -> Record {
    record(container, &network("blue"))
}

#[test]
fn a_record_comes_back_as_it_was_until_it_is_removed() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
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
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    journal.lock(&attachment("good")).unwrap().write(&sample("good")).unwrap();
    let text = fs::read_to_string(paths.attachments().join("good.net1.json")).unwrap();
    fs::write(paths.attachments().join("copied.net1.json"), &text).unwrap();
    fs::write(paths.attachments().join("newer.net1.json"), text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    fs::write(paths.attachments().join("torn.net1.json"), &text[..text.len() / 2]).unwrap();

    let Records { records, unreadable } = journal.records().unwrap();
    assert_eq!(records, [sample("good")]);
    let messages: Vec<_> = unreadable.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].contains("copied.net1.json contains attachment good.net1"), "{}", messages[0]);
    assert!(
        messages[1].contains("newer.net1.json has layout 2, but this release of usnet supports at most 1"),
        "{}",
        messages[1]
    );
    assert!(messages[2].contains("torn.net1.json is damaged or was edited"), "{}", messages[2]);
    let torn = journal.lock(&attachment("torn")).unwrap().read();
    assert!(matches!(torn, Err(Error::File(atomic_file::Error::Invalid { .. }))), "{torn:?}");
}

#[test]
fn the_records_of_a_pod_are_found_among_others_and_doubtful_ones_are_named() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let of_pod = |container: &str, uid: &str| {
        let mut record = sample(container);
        record.pod.uid = uid.parse().unwrap();
        journal.lock(&record.id).unwrap().write(&record).unwrap();
        record
    };
    let (one, other) = (of_pod("c1", "0b6e-1"), of_pod("c2", "0b6e-1"));
    of_pod("c3", "0b6e-2");
    // The uid is in the text, but it is not the pod's.
    let mut mentions = of_pod("c4", "0b6e-3");
    mentions.ipam = Some(serde_json::json!({"comment": "0b6e-1"}));
    journal.lock(&mentions.id).unwrap().write(&mentions).unwrap();
    let uid = one.pod.uid.clone();
    let found = journal.records_of_pod(&uid).unwrap();
    assert_eq!((found.records, found.unreadable.len()), (vec![one, other], 0));

    let path = |name: &str| paths.attachments().join(name);
    fs::write(path("other.json"), r#"{"version":999,"pod":{"uid":"0b6e-2"}}"#).unwrap();
    for doubtful in [r#"{"version":999,"pod":{"uid":"0b6e-1"}}"#, r#"{"version":999}"#, "{"] {
        fs::write(path("doubtful.json"), doubtful).unwrap();
        let found = journal.records_of_pod(&uid).unwrap();
        assert_eq!((found.records.len(), found.unreadable.len()), (2, 1), "{doubtful}");
    }
    fs::write(path("doubtful.json"), [0xff, 0xfe]).unwrap();
    assert_eq!(journal.records_of_pod(&uid).unwrap().unreadable.len(), 1);
}

#[test]
fn a_record_that_a_loss_of_power_left_empty_is_none() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    fs::write(paths.attachments().join("c1.net1.json"), "").unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    assert_eq!((locked.read().unwrap(), journal.records().unwrap().unreadable.len()), (None, 0));
    locked.write(&sample("c1")).unwrap();
    assert_eq!(locked.read().unwrap(), Some(sample("c1")));
}

#[test]
fn a_record_is_for_root_alone_while_it_is_written_and_after() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777);
    let folder = paths.attachments();
    // What a killed writer left is written over, with the permissions that it has.
    locked.write(&sample("c1")).unwrap();
    fs::rename(folder.join("c1.net1.json"), folder.join(".c1.net1.json.new")).unwrap();
    assert_eq!(mode(folder.join(".c1.net1.json.new")).unwrap(), 0o600);
    locked.write(&sample("c1")).unwrap();
    assert_eq!(mode(folder.join("c1.net1.json")).unwrap(), 0o600);
    assert_eq!(mode(folder).unwrap(), 0o700);
}

#[test]
fn a_record_cannot_be_written_under_the_lock_of_another() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    assert!(journal.lock(&attachment("c1")).unwrap().write(&sample("c2")).is_err());
    assert!(journal.records().unwrap().records.is_empty());
}

#[test]
fn a_lock_holds_for_its_attachment_alone_and_through_removal_of_the_record() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    locked.write(&sample("c1")).unwrap();
    locked.remove().unwrap();
    assert!(try_lock(&journal, "c1").is_none());
    assert!(try_lock(&journal, "c2").is_some());
    drop(locked);
    drop(journal.lock(&attachment("c1")).unwrap());
}

#[test]
fn a_thousand_attachments_are_locked_by_one_open_file_and_freed_together() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let busy = journal.lock(&attachment("c7")).unwrap();
    let ids: Vec<_> = (0..1000).map(|number| attachment(&format!("c{number}"))).collect();
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let mut together = journal.try_lock_all(&ids).unwrap();
    assert!(open_files() < before + 100, "each lock takes an open file");
    assert_eq!((together.locked.len(), together.busy.as_slice()), (999, &[attachment("c7")][..]));
    assert!(try_lock(&journal, "c8").is_none());
    drop(busy);
    // A child that another test is about to start may have the file open for a moment more.
    drop(journal.lock(&attachment("c7")).unwrap());
    let last = together.locked.pop();
    drop(together);
    assert!(try_lock(&journal, "c8").is_none(), "the last one holds them all");
    drop(last);
    drop(journal.lock(&attachment("c8")).unwrap());
}

/// Each thread increments a number by reading and writing it; without the lock some increments
/// would get lost.
#[test]
fn threads_exclude_each_other() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 25;
    let (_folder, paths) = node_paths();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let journal = Journal::open(&paths).unwrap();
                for _ in 0..ROUNDS {
                    let locked = journal.lock(&attachment("c1")).unwrap();
                    let count: usize = locked.read().unwrap().map_or(0, |record| record.mac.parse().unwrap());
                    locked.write(&Record { mac: (count + 1).to_string(), ..sample("c1") }).unwrap();
                }
            });
        }
    });
    let records = Journal::open(&paths).unwrap().records().unwrap().records;
    assert_eq!(records[0].mac, (THREADS * ROUNDS).to_string());
}

/// Another process that runs one of the `child_*` tests below and has printed its first line.
fn child(test: &str, paths: &NodePaths) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", &format!("store::journal::tests::{test}")])
        .env(STATE_VARIABLE, &paths.state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap().contains("ready"));
    assert!(ready, "{test} ended early");
    child
}

fn childs_journal() -> Journal {
    let state = PathBuf::from(std::env::var_os(STATE_VARIABLE).unwrap());
    Journal::open(&NodePaths { state, ..NodePaths::from_environment() }).unwrap()
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
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let mut child = child("child_holds_a_lock", &paths);
    assert!(try_lock(&journal, "c1").is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(try_lock(&journal, "c1").is_some());
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
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    journal.lock(&attachment("c1")).unwrap().write(&sample("c1")).unwrap();
    for round in 0..20 {
        let mut child = child("child_writes_without_end", &paths);
        // The reader runs concurrently to the writer, a different number of times before each kill.
        for _ in 0..=round {
            let read = journal.records().unwrap();
            assert_eq!((read.records.len(), read.unreadable.len()), (1, 0), "{read:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(try_lock(&journal, "c1").unwrap().read().unwrap().is_some());
    }
    let locked = journal.lock(&attachment("c1")).unwrap();
    locked.remove().unwrap();
    let left: Vec<_> = fs::read_dir(paths.attachments()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [LOCK_FILE], "what the killed writers began is left");
}
