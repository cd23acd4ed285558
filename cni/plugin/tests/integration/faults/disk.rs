//! The journal's disk is full or read-only, or has corrupt records; the pod's own volume is full.

use crate::support::engine::on_each_engine;
use crate::support::output::Output;
use crate::support::{NETWORK, TestNode, configuration, record_in};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

on_each_engine! {
    a_full_disk_fails_add_but_not_del,
    a_read_only_disk_fails_add_and_del_and_loses_nothing,
    a_read_only_run_directory_fails_status_and_add_and_leaves_nothing,
    a_full_volume_fails_only_its_own_pod_and_leaves_nothing,
    an_unreadable_record_is_named_and_nothing_is_changed,
    damaged_records_and_other_files_do_not_affect_other_pods,
}

const IO_FAILURE: u64 = 5;
const NOT_AVAILABLE: u64 = 50;
const POD_VOLUME: u64 = 102;
const NONE: Option<&str> = None;

/// Mounts a file system of 64 KiB.
fn mount_small(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), Some("size=64k,mode=777")).unwrap();
}

fn ballast(folder: &Path) -> PathBuf {
    folder.join(".ballast")
}

fn fill(folder: &Path) {
    let error = fs::write(ballast(folder), vec![0; 128 << 10]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

fn free_space(folder: &Path) {
    fs::remove_file(ballast(folder)).unwrap();
}

fn set_read_only(folder: &Path, is_read_only: bool) {
    let flags = if is_read_only { MsFlags::MS_RDONLY } else { MsFlags::empty() };
    mount(NONE, folder, NONE, flags | MsFlags::MS_REMOUNT, NONE).unwrap();
}

/// Asserts that the complete error names the file and the kernel's reason.
#[track_caller]
fn assert_error(output: &Output, path: &Path, reason: &str) {
    let message = output.message(IO_FAILURE);
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    let details = output.error()["details"].as_str().unwrap_or_default().to_owned();
    assert!(details.contains(reason), "{message}: {details}");
}

fn a_full_disk_fails_add_but_not_del(node: &mut TestNode) {
    let state = node.paths.state.clone();
    mount_small(&state);
    let [old, new] = ["old", "new"].map(|name| node.pod(name));
    node.add(&old, "net1").result();
    fill(&state);

    assert_error(&node.add(&new, "net1"), &node.paths.attachments(), "No space left");
    node.call("STATUS", &new, "net1", &configuration(NETWORK)).message(NOT_AVAILABLE);
    assert_eq!((node.ports(NETWORK).len(), node.mounts().len(), node.records().len()), (1, 1, 1));
    node.del(&new, "net1").assert_done();
    node.del(&old, "net1").assert_done();
    assert_eq!((node.ports(NETWORK), node.records()), (vec![], vec![]));

    free_space(&state);
    node.add(&new, "net1").result();
    node.del(&new, "net1").assert_done();
    node.engine.assert_no_leftovers();
    assert_eq!(node.leftovers(), Vec::<PathBuf>::new());
}

fn a_read_only_disk_fails_add_and_del_and_loses_nothing(node: &mut TestNode) {
    let state = node.paths.state.clone();
    mount_small(&state);
    let [old, new] = ["old", "new"].map(|name| node.pod(name));
    node.add(&old, "net1").result();
    set_read_only(&state, true);

    for output in [node.add(&new, "net1"), node.del(&old, "net1")] {
        output.assert_in_time();
        assert_error(&output, &node.paths.attachments(), "Read-only");
    }
    // The runtime repeats DEL: it must not miss anything that it can still remove.
    assert_eq!(node.records().len(), 1);

    set_read_only(&state, false);
    node.del(&old, "net1").assert_done();
    node.del(&new, "net1").assert_done();
    assert_eq!((node.ports(NETWORK), node.leftovers()), (vec![], vec![]));
    node.engine.assert_no_leftovers();
}

fn a_read_only_run_directory_fails_status_and_add_and_leaves_nothing(node: &mut TestNode) {
    let run = node.paths.run.clone();
    let mount_run = |flags| mount(Some(&run), &run, NONE, MsFlags::MS_BIND | flags, NONE).unwrap();
    mount_run(MsFlags::empty());
    mount_run(MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY);
    let pod = node.pod("p");
    node.call("STATUS", &pod, "net1", &configuration(NETWORK)).message(NOT_AVAILABLE);
    assert!(node.add(&pod, "net1").error()["details"].to_string().contains("Read-only"));
    node.del(&pod, "net1").assert_done();

    mount_run(MsFlags::MS_REMOUNT);
    node.call("STATUS", &pod, "net1", &configuration(NETWORK)).assert_done();
    node.add(&pod, "net1").result();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn a_full_volume_fails_only_its_own_pod_and_leaves_nothing(node: &mut TestNode) {
    let [full, other] = ["full", "other"].map(|name| node.pod(name));
    mount_small(&full.volume);
    fill(&full.volume);
    let rejected = node.add(&full, "net1");
    assert!(rejected.message(POD_VOLUME).contains("the folder that the pod shares with the engine"), "{rejected:?}");
    assert!(rejected.error()["details"].as_str().unwrap().contains("No space left"), "{rejected:?}");
    node.assert_clean();
    node.add(&other, "net1").result();
    node.del(&other, "net1").assert_done();
    free_space(&full.volume);
    node.add(&full, "net1").result();
    node.del(&full, "net1").assert_done();
    node.assert_clean();
}

fn an_unreadable_record_is_named_and_nothing_is_changed(node: &mut TestNode) {
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let [record] = node.records().try_into().unwrap();
    let written = format!("{}\n", record_in(&record));
    let later = written.replacen("\"version\":1", "\"version\":99", 1);
    assert_ne!(later, written);
    let cut = written.get(..written.len() / 2).unwrap().to_owned();
    let (port, aside) = (node.ports(NETWORK), record.with_extension("aside"));
    for (content, advice) in [(&cut, "move it away"), (&later, "upgrade usnet"), (&"[]".to_owned(), "move it away")] {
        fs::write(&record, content).unwrap();
        for output in [node.add(&pod, "net1"), node.del(&pod, "net1"), node.check(&pod, "net1", &result)] {
            let message = output.message(IO_FAILURE);
            assert!(message.contains(record.to_str().unwrap()) && message.contains(advice), "{message}");
        }
        assert_eq!((node.ports(NETWORK), &fs::read_to_string(&record).unwrap()), (port.clone(), content));
        // Other attachments of the node are not affected.
        let other = node.pod("other");
        node.add(&other, "net1").result();
        node.del(&other, "net1").assert_done();
    }
    assert_eq!(node.ports(NETWORK), port);
    // As the message advises: without the record the runtime can continue, and with the correct one
    // everything is found again.
    fs::rename(&record, &aside).unwrap();
    node.del(&pod, "net1").assert_done();
    fs::write(&record, written).unwrap();
    fs::remove_file(&aside).unwrap();
    node.del(&pod, "net1").assert_done();
    assert_eq!((node.ports(NETWORK), node.records()), (vec![], vec![]));
    node.engine.assert_no_leftovers();
    assert!(!node.mounts().iter().any(|(path, _)| *path == pod.directory));
}

/// Puts something in the place of a record.
type Damage = fn(&Path);

/// Names of files that host-local leaves with this `dataDir`, and that administrators leave.
const STRAYS: [&str; 5] = ["10.56.0.3", "last_reserved_ip.0", "lock", "backup.json", "a.net1.json.bak"];

fn damaged_records_and_other_files_do_not_affect_other_pods(node: &mut TestNode) {
    let [damaged, other] = ["damaged", "other"].map(|name| node.pod(name));
    let attachments = node.paths.attachments();
    fs::create_dir_all(&attachments).unwrap();
    STRAYS.iter().for_each(|name| fs::write(attachments.join(name), "10.56.0.3").unwrap());
    let damages: [(&str, Damage); 4] = [
        ("is damaged", |path| fs::write(path, "{").unwrap()),
        ("is not a regular file", |path| symlink("/dev/zero", path).unwrap()),
        ("is not a regular file", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
        ("more than 65536 bytes", |path| fs::File::create(path).unwrap().set_len(1 << 30).unwrap()),
    ];
    for (reason, damage) in damages {
        node.add(&damaged, "net1").result();
        let path = attachments.join(format!("{}.net1.json", damaged.container));
        let written = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        damage(&path);

        let failed = node.del(&damaged, "net1");
        failed.assert_in_time();
        let message = failed.message(IO_FAILURE);
        assert!(message.contains(reason) && message.contains("move it away"), "{message}");
        node.add(&other, "net1").result();
        node.add(&other, "net2").result();
        node.del(&other, "net1").assert_done();
        assert!(other.directory.join("net2.json").exists(), "{reason}");
        node.del(&other, "net2").assert_done();
        let left: Vec<_> = node.mounts().into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, std::slice::from_ref(&damaged.directory), "{reason}");
        assert!(!other.directory.exists(), "{reason}");

        fs::remove_file(&path).unwrap();
        fs::write(&path, written).unwrap();
        node.del(&damaged, "net1").assert_done();
    }
    STRAYS.iter().for_each(|name| fs::remove_file(attachments.join(name)).unwrap());
    node.assert_clean();
}
