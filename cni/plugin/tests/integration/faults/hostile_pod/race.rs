//! A pod that changes its volume continuously during calls of the plugin.

use super::{assert_untouched, bystander};
use crate::support::TestNode;
use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, scope};

on_each_engine! {
    changes_by_a_pod_during_calls_affect_nothing_outside,
}

/// The minimum number of changes by the pod.
const CHANGES: usize = 10_000;
/// The minimum number of attachments by the plugin meanwhile.
const ATTACHMENTS: usize = 20;
const NAMES: [&str; 3] = ["net1.json", ".net1.json.new", "net1.sock"];
/// The code for a pod that occupies the path of one of our files.
const REFUSED: u64 = 102;

/// The permissions and content of files that must not change.
fn outside(bystander: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let folder = Path::new("/run/elsewhere");
    fs::create_dir_all(folder).unwrap();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode();
    let of_file = (mode(bystander), fs::read(bystander).unwrap());
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_encoded_bytes());
    BTreeMap::from([(bystander.to_owned(), of_file), (folder.to_owned(), (mode(folder), names.flatten().collect()))])
}

/// Replaces one of our files. A concurrent operation of the plugin may make it fail.
fn change_volume(volume: &Path, round: usize) {
    let path = volume.join(NAMES[round % NAMES.len()]);
    let _gone = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    let _changed = match round / NAMES.len() % 7 {
        0 => symlink("/run/bystander", &path),
        1 => symlink("/run/elsewhere", &path),
        2 => mkfifo(&path, Mode::S_IRWXU).map_err(Into::into),
        3 => fs::create_dir(&path),
        4 => UnixListener::bind(&path).map(drop),
        5 => fs::rename(volume.join(NAMES[(round + 1) % NAMES.len()]), &path),
        _ => Ok(()),
    };
}

fn attach_and_detach(node: &TestNode, pod: &Pod, attached: &mut usize) {
    let added = node.add(pod, "net1");
    added.assert_in_time();
    if added.output.status.success() {
        *attached += 1;
    } else {
        added.message(REFUSED);
    }
    let deleted = node.del(pod, "net1");
    deleted.assert_in_time();
    deleted.assert_done();
}

fn changes_by_a_pod_during_calls_affect_nothing_outside(node: &mut TestNode) {
    let (bystander, pod) = (bystander(), node.pod("p"));
    let before = outside(&bystander);
    let (changes, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut attached = 0;
    scope(|scope| {
        let pods_doing = || {
            while !is_over.load(Ordering::Relaxed) {
                change_volume(&pod.volume, changes.fetch_add(1, Ordering::Relaxed));
            }
        };
        Builder::new().spawn_scoped(scope, pods_doing).unwrap();
        let mut rounds = 0;
        while rounds < ATTACHMENTS || changes.load(Ordering::Relaxed) < CHANGES {
            // A failed assertion must not leave the other thread running.
            let round = std::panic::AssertUnwindSafe(|| attach_and_detach(node, &pod, &mut attached));
            if let Err(panic) = std::panic::catch_unwind(round) {
                is_over.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
            rounds += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(outside(&bystander), before);
    assert_untouched(&bystander);
    node.assert_clean();
    // The pod's files may occupy paths of its own interface; without them it works again.
    for name in NAMES {
        let path = pod.volume.join(name);
        let _gone = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    node.add(&pod, "net1").result();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
    println!("{} changes by the pod, {attached} attachments that worked", changes.load(Ordering::Relaxed));
}
