//! A record is appended to its file: what was written last counts, if it is complete.

use super::*;
use std::os::unix::fs::MetadataExt;

fn with_progress(progress: Progress) -> Record {
    Record { progress, ..sample("c1") }
}

#[test]
fn a_line_that_was_cut_anywhere_leaves_the_record_as_it_was_before() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    let path = paths.attachments().join("c1.net1.json");
    locked.write(&with_progress(Progress::Attaching)).unwrap();
    let before = fs::read(&path).unwrap();
    locked.write(&with_progress(Progress::Attached)).unwrap();
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before), "what is on disk already is not written again");
    for length in before.len()..=after.len() {
        fs::write(&path, &after[..length]).unwrap();
        let expected = if length == after.len() { Progress::Attached } else { Progress::Attaching };
        assert_eq!(locked.read().unwrap(), Some(with_progress(expected)), "{length}");
        locked.write(&with_progress(Progress::Detaching)).unwrap();
        assert_eq!(locked.read().unwrap(), Some(with_progress(Progress::Detaching)), "{length}");
    }
}

#[test]
fn the_file_stays_the_same_until_it_has_no_room() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    let locked = journal.lock(&attachment("c1")).unwrap();
    let inode = || fs::metadata(paths.attachments().join("c1.net1.json")).unwrap().ino();
    let large = |progress| Record { ipam: Some("x".repeat(40 << 10).into()), ..with_progress(progress) };
    locked.write(&with_progress(Progress::Attaching)).unwrap();
    let first = inode();
    locked.write(&large(Progress::Attached)).unwrap();
    assert_eq!(inode(), first);
    locked.write(&large(Progress::Detaching)).unwrap();
    assert_ne!(inode(), first);
    assert_eq!(locked.read().unwrap(), Some(large(Progress::Detaching)));
    locked.start_sync().unwrap().wait().unwrap();
}

#[test]
fn what_is_not_there_is_not_synced() {
    let (_folder, paths) = node_paths();
    let journal = Journal::open(&paths).unwrap();
    assert!(journal.lock(&attachment("c1")).unwrap().start_sync().is_err());
}
