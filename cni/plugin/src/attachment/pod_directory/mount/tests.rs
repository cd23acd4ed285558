use super::*;
use nix::sched::{CloneFlags, unshare};
use std::fs::OpenOptions;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::PathBuf;

const NONE: Option<&str> = None;

type Mount = fn(&File, &Path, &Path) -> Result<(), PodDirectoryError>;

fn detached(volume: &File, _: &Path, path: &Path) -> Result<(), PodDirectoryError> {
    assert!(detached::mount(volume, path)?, "this kernel is too old");
    Ok(())
}

/// The options of the mounts on a path, of this thread.
fn options(path: &Path) -> Vec<String> {
    let observed = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let fields = observed.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_path = fields.filter(|fields| Path::new(fields[4]) == path);
    of_path.map(|fields| fields[5].to_owned()).collect()
}

/// In a mount namespace of its own, in which mounts are shared as on a node.
fn in_a_namespace(test: impl FnOnce(PathBuf) + Send + 'static) {
    let thread = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace; are you root?");
        mount_call(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
        let temporary = tempfile::tempdir().unwrap();
        mount_call(Some("tmpfs"), temporary.path(), Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
        mount_call(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SHARED, NONE).unwrap();
        test(temporary.path().to_owned());
        umount2(temporary.path(), MntFlags::MNT_DETACH).unwrap();
    });
    thread.join().unwrap();
}

/// What other namespaces receive has the flags from the start, and nothing that is mounted below
/// the volume arrives.
#[test]
fn both_ways_mount_with_flags_that_every_copy_has() {
    for mount in [detached as Mount, staged::mount] {
        in_a_namespace(move |root| {
            let [volume, ports, copies] = ["volume", "ports", "copies"].map(|name| root.join(name));
            let path = ports.join("pod");
            for folder in [&volume.join("inside"), &path, &copies] {
                fs::create_dir_all(folder).unwrap();
            }
            symlink("/etc", volume.join("link")).unwrap();
            // A peer, as a container that sees the folder.
            mount_call(Some(&ports), &copies, NONE, MsFlags::MS_BIND, NONE).unwrap();

            let opened = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&volume).unwrap();
            mount(&opened, &ports.join(".pod.new"), &path).unwrap();
            for path in [path.clone(), copies.join("pod")] {
                let [options] = options(&path).try_into().unwrap();
                for option in ["nosuid", "nodev", "noexec", "nosymfollow"] {
                    assert!(options.split(',').any(|present| present == option), "{options}");
                }
                assert_eq!(fs::read_dir(path.join("link")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
            }
            assert!(!ports.join(".pod.new").exists());
            mount_call(Some("tmpfs"), &volume.join("inside"), Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
            assert_eq!(options(&path.join("inside")), [""; 0]);
            unmount(&path).unwrap();
            assert_eq!((options(&path), options(&copies.join("pod"))), (Vec::new(), Vec::new()));
        });
    }
}
