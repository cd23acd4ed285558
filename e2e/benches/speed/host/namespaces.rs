//! Namespaces of our own: the plugin mounts and creates devices, and nothing of it outlives us.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

/// A folder that every machine has, and that nothing here uses.
const HELD: &str = "/mnt";

/// Enters namespaces of our own.
pub(crate) fn separate() {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace (are you root?)");
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).expect("private mounts");
    mount(Some("tmpfs"), HELD, Some("tmpfs"), MsFlags::empty(), NONE).expect("a file system");
    for pod in 0..PODS {
        let held = of_pod(pod);
        fs::write(&held, "").expect("a file");
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        mount(Some("/proc/thread-self/ns/net"), &held, NONE, MsFlags::MS_BIND, NONE).expect("a network namespace");
    }
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
}

/// As many pods as are attached at once have a network namespace of their own: all have an
/// interface of the same name.
const PODS: usize = 200;

/// The network namespace of a pod, in our mount namespace alone.
pub(crate) fn of_pod(number: usize) -> PathBuf {
    Path::new(HELD).join(format!("pod{}", number % PODS))
}

/// Does something in another network namespace, as an engine's.
pub(crate) fn within<T: Send>(path: &Path, act: impl FnOnce() -> T + Send) -> T {
    let enter_and_act = || {
        setns(File::open(path).expect("a network namespace"), CloneFlags::CLONE_NEWNET).expect("it is entered");
        act()
    };
    thread::scope(|scope| scope.spawn(enter_and_act).join()).expect("the thread ends")
}
