//! Records are found by their keys, and no other record is read.

use super::*;
use crate::model::attachment::Address;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::path::Path;
use std::time::{Duration, Instant};

fn with_pod(container: &str, uid: &str) -> Record {
    let mut record = sample(container);
    record.pod.uid = uid.parse().unwrap();
    record
}

fn write(journal: &Journal, record: &Record) {
    journal.lock(&record.id).unwrap().write(record).unwrap();
}

fn containers(found: Records) -> Vec<String> {
    assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
    found.records.into_iter().map(|record| record.id.container.to_string()).collect()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn records_are_found_by_each_of_their_keys_until_they_are_removed() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let address = |ip: &str| Address { ip: ip.parse().unwrap(), prefix: 24 };
    let mut one = with_pod("c1", "0b6e-1");
    one.mac = "02:00:00:00:00:77".into();
    one.directory_source = Some("/run/usnet/devices/blue-7".into());
    one.invoked_ifname = Some("eth0".parse().unwrap());
    one.addresses = vec![address("10.0.0.7"), address("fd00::7")];
    write(&journal, &one);
    write(&journal, &with_pod("c2", "0b6e-1"));
    write(&journal, &Record { network: "red".parse().unwrap(), ..with_pod("c3", "0b6e-2") });

    let (blue, red) = ("blue".parse().unwrap(), "red".parse().unwrap());
    let find = |key: Key<'_>| containers(journal.find(key).unwrap());
    assert_eq!(find(Key::Pod(&one.pod.uid)), ["c1", "c2"]);
    assert_eq!(find(Key::Sandbox(&one.id.container)), ["c1"]);
    assert_eq!(find(Key::Folder(Path::new("/run/usnet/devices/blue-7"))), ["c1"]);
    assert_eq!(find(Key::Mac(&blue, "02:00:00:00:00:77")), ["c1"]);
    assert_eq!(find(Key::Mac(&blue, "02:00:00:00:00:01")), ["c2"]);
    assert_eq!(find(Key::Mac(&red, "02:00:00:00:00:01")), ["c3"]);
    assert_eq!(find(Key::Ip(&blue, "fd00::7".parse().unwrap())), ["c1"]);
    assert_eq!(find(Key::Ip(&blue, "10.0.0.2".parse().unwrap())), ["c2"]);
    assert_eq!(find(Key::Ip(&red, "10.0.0.7".parse().unwrap())), [""; 0]);

    // IPAM assigned other addresses.
    one.addresses = vec![address("10.0.0.8")];
    write(&journal, &one);
    assert_eq!(find(Key::Ip(&blue, "10.0.0.7".parse().unwrap())), [""; 0]);
    assert_eq!(find(Key::Ip(&blue, "10.0.0.8".parse().unwrap())), ["c1"]);
    for container in ["c1", "c2", "c3"] {
        journal.lock(&attachment(container)).unwrap().remove().unwrap();
    }
    assert_eq!(files(&paths.index()), Vec::<PathBuf>::new());
}

#[test]
fn an_unreadable_record_concerns_those_who_look_for_it_alone() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let (damaged, other) = (with_pod("c1", "0b6e-1"), with_pod("c2", "0b6e-2"));
    write(&journal, &damaged);
    write(&journal, &other);
    fs::write(paths.attachments().join("c1.net1.json"), "{").unwrap();
    let of_damaged = journal.find(Key::Pod(&damaged.pod.uid)).unwrap();
    assert_eq!((of_damaged.records.len(), of_damaged.unreadable[0].id.clone()), (0, damaged.id));
    assert_eq!(containers(journal.find(Key::Pod(&other.pod.uid)).unwrap()), ["c2"]);
}

#[test]
fn an_index_is_repaired() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let (restored, gone) = (with_pod("c1", "0b6e-1"), with_pod("c2", "0b6e-2"));
    write(&journal, &restored);
    let sorted = || {
        let mut files = files(&paths.index());
        files.sort();
        files
    };
    let expected = sorted();
    fs::remove_dir_all(paths.index()).unwrap();
    write(&journal, &gone);
    fs::remove_file(paths.attachments().join("c2.net1.json")).unwrap();
    assert!(journal.find(Key::Pod(&restored.pod.uid)).unwrap().records.is_empty());
    // A locked attachment is left out, and a program that another test is starting holds all locks
    // until its exec.
    let deadline = Instant::now() + Duration::from_secs(10);
    let repaired = loop {
        journal.repair_index().unwrap();
        let repaired = sorted();
        if repaired == expected || Instant::now() > deadline {
            break repaired;
        }
    };
    assert_eq!(repaired, expected);
    assert_eq!(containers(journal.find(Key::Pod(&restored.pod.uid)).unwrap()), ["c1"]);
}

/// By the events of the folder: each record that is opened is one that a call on a node with ten
/// thousand of them would have to wait for.
#[test]
fn no_other_record_is_read() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    for number in 0..20 {
        write(&journal, &with_pod(&format!("other{number}"), &format!("0b6e-{number}")));
    }
    let own = with_pod("c1", "0b6e-100");
    let opened = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    opened.add_watch(&paths.attachments(), AddWatchFlags::IN_OPEN).unwrap();
    let (locked, uid) = (journal.lock(&own.id).unwrap(), own.pod.uid.clone());
    locked.write(&own).unwrap();
    let network = own.network.clone();
    for key in [Key::Pod(&uid), Key::Mac(&network, "02:00:00:00:00:99"), Key::Folder(Path::new("/x"))] {
        journal.find(key).unwrap();
    }
    locked.write(&Record { progress: Progress::Detaching, ..own }).unwrap();
    locked.remove().unwrap();
    let events = opened.read_events().unwrap();
    let names: Vec<_> = events.into_iter().map(|event| event.name.unwrap_or_default()).collect();
    let is_own =
        |name: &std::ffi::OsString| [".lock", "c1.net1.json", ".c1.net1.json.new"].map(Into::into).contains(name);
    assert!(!names.is_empty() && names.iter().all(is_own), "{names:?}");
}
