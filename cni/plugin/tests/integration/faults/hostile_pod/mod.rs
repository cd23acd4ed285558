//! A pod controls the content of its volume. No file in it makes the plugin change anything outside
//! of the volume.

mod race;

use crate::support::TestNode;
use crate::support::engine::on_each_engine;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

on_each_engine! {
    links_under_the_names_of_our_files_are_replaced_and_not_followed,
    folders_at_the_paths_of_our_files_fail_their_own_pod_and_leave_nothing,
    the_engines_path_does_not_follow_a_link_of_the_pod,
}

/// A file outside the pod's volume that must not be changed.
fn bystander() -> PathBuf {
    let path = PathBuf::from("/run/bystander");
    fs::write(&path, "untouched").unwrap();
    path
}

#[track_caller]
fn assert_untouched(path: &Path) {
    assert_eq!(fs::read_to_string(path).unwrap(), "untouched");
}

fn links_under_the_names_of_our_files_are_replaced_and_not_followed(node: &mut TestNode) {
    let bystander = bystander();
    for interface in ["net1", "net2"] {
        let pod = node.pod(interface);
        for file in ["json", "sock"] {
            symlink(&bystander, pod.volume.join(format!("{interface}.{file}"))).unwrap();
        }
        symlink(&bystander, pod.volume.join(format!(".{interface}.json.new"))).unwrap();
        node.add(&pod, interface).result();
        assert_untouched(&bystander);
        assert_eq!(pod.description(interface)["interface"], interface);
        assert!(fs::symlink_metadata(pod.volume.join(format!("{interface}.json"))).unwrap().is_file());
        assert!(fs::symlink_metadata(pod.volume.join(format!("{interface}.sock"))).is_err());

        // While the pod runs it can create such links, too.
        fs::remove_file(pod.volume.join(format!("{interface}.json"))).unwrap();
        for file in ["json", "sock"] {
            symlink(&bystander, pod.volume.join(format!("{interface}.{file}"))).unwrap();
        }
        node.del(&pod, interface).assert_done();
        assert_untouched(&bystander);
    }
    node.assert_clean();
}

fn folders_at_the_paths_of_our_files_fail_their_own_pod_and_leave_nothing(node: &mut TestNode) {
    for file in ["net1.json", ".net1.json.new", "net1.sock"] {
        let pod = node.pod(file);
        fs::create_dir_all(pod.volume.join(file).join("inside")).unwrap();
        let message = node.add(&pod, "net1").message(102);
        assert!(message.contains("the pod occupies its path"), "{message}");
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
        assert!(pod.volume.join(file).join("inside").exists());
    }
}

fn the_engines_path_does_not_follow_a_link_of_the_pod(node: &mut TestNode) {
    let bystander = bystander();
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    symlink(&bystander, pod.volume.join("link")).unwrap();
    symlink("/run", pod.volume.join("folder")).unwrap();
    for path in ["link", "folder/bystander"] {
        let error = fs::read(pod.directory.join(path)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(nix::libc::ELOOP), "{path}: {error}");
    }
}
