use super::*;
use crate::model::attachment::Progress;
use crate::testing::{attachment, network, node_paths, record};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

mod index;
mod lines;

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
    fs::write(paths.attachments().join("newer.net1.json"), text.replace("\"version\":1", "\"version\":2")).unwrap();
    fs::write(paths.attachments().join("torn.net1.json"), &text[..text.len() / 2]).unwrap();

    let Records { records, unreadable } = journal.records().unwrap();
    assert_eq!(records, [sample("good")]);
    let ids: Vec<_> = unreadable.iter().map(|record| record.id.to_string()).collect();
    assert_eq!(ids, ["copied.net1", "newer.net1", "torn.net1"]);
    let messages: Vec<_> = unreadable.iter().map(|record| record.error.to_string()).collect();
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
fn only_files_with_the_name_of_a_record_count() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    for name in ["10.56.0.3", "last_reserved_ip.0", "lock", "backup.json", "c1.net1.json.bak", "c1.net1", "c1.a:b.json"]
    {
        fs::write(paths.attachments().join(name), "10.56.0.3").unwrap();
    }
    fs::create_dir(paths.attachments().join("folder")).unwrap();
    let Records { records, unreadable } = journal.records().unwrap();
    assert!(records.is_empty() && unreadable.is_empty(), "{unreadable:?}");
}

/// The test would wait indefinitely for the FIFO, and run out of memory at the device.
#[test]
fn what_is_no_file_of_a_records_size_is_neither_followed_nor_waited_for() {
    use nix::sys::stat::Mode;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    let (folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let path = |name: &str| paths.attachments().join(format!("{name}.net1.json"));
    let valid = folder.path().join("valid");
    journal.lock(&attachment("link")).unwrap().write(&sample("link")).unwrap();
    fs::rename(path("link"), &valid).unwrap();
    symlink(&valid, path("link")).unwrap();
    symlink("/dev/zero", path("device")).unwrap();
    nix::unistd::mkfifo(&path("fifo"), Mode::S_IRWXU).unwrap();
    fs::create_dir(path("folder")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    let no_files = ["device", "fifo", "folder", "link", "socket"];
    fs::File::create(path("large")).unwrap().set_len(1 << 40).unwrap();

    let unreadable = journal.records().unwrap().unreadable;
    assert_eq!(unreadable.len(), no_files.len() + 1, "{unreadable:?}");
    for name in no_files {
        let error = journal.lock(&attachment(name)).unwrap().read().unwrap_err();
        assert!(matches!(error, Error::File(atomic_file::Error::NotAFile(_))), "{name}: {error}");
    }
    let error = journal.lock(&attachment("large")).unwrap().read().unwrap_err();
    assert!(error.to_string().contains("more than 65536 bytes"), "{error}");
}

#[test]
fn a_record_that_could_not_be_read_again_is_not_written() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    let large = Record { ipam: Some("x".repeat(64 << 10).into()), ..sample("c1") };
    assert!(matches!(locked.write(&large), Err(Error::RecordTooLarge { .. })));
    assert_eq!(locked.read().unwrap(), None);
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
    drop(locked);
    let locked = journal.lock(&attachment("c1")).unwrap();
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
