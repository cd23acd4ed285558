//! The release binaries under test, and time.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// A folder that every machine has, and that nothing here uses.
const HELD: &str = "/mnt";

/// The binaries that are measured.
pub(crate) struct Programs {
    /// The operator.
    pub(crate) usnet: PathBuf,
    /// The CNI plugin.
    pub(crate) userspace: PathBuf,
}

impl Programs {
    /// From `USNET_BINARIES`, which `make bench` sets to the folder of the static release binaries.
    pub(crate) fn from_environment() -> Self {
        let folder = env::var_os("USNET_BINARIES")
            .expect("USNET_BINARIES must name the folder of the release binaries: use `make bench`");
        let folder = PathBuf::from(folder);
        Self { usnet: folder.join("usnet"), userspace: folder.join("userspace") }
    }
}

/// The plugin mounts and makes devices; with namespaces of our own nothing of it outlives us.
pub(crate) fn separate() {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace (are you root?)");
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).expect("private mounts");
    // The namespace of all pods stays as a mount; ours is another one.
    mount(Some("tmpfs"), HELD, Some("tmpfs"), MsFlags::empty(), NONE).expect("a file system");
    let held = network_namespace();
    fs::write(&held, "").expect("a file");
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    mount(Some("/proc/thread-self/ns/net"), &held, NONE, MsFlags::MS_BIND, NONE).expect("a network namespace");
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
}

/// Where the pods' network namespace is, in our mount namespace alone.
pub(crate) fn network_namespace() -> PathBuf {
    Path::new(HELD).join("pod")
}

/// Does something in another network namespace, as an engine's.
pub(crate) fn in_namespace<T: Send>(path: &Path, act: impl FnOnce() -> T + Send) -> T {
    let enter_and_act = || {
        setns(File::open(path).expect("a network namespace"), CloneFlags::CLONE_NEWNET).expect("it is entered");
        act()
    };
    thread::scope(|scope| scope.spawn(enter_and_act).join()).expect("the thread ends")
}

/// How long a command takes from exec to exit, and its output; it must succeed.
pub(crate) fn timed(command: &mut Command) -> (Duration, String) {
    let start = Instant::now();
    let output = command.stderr(Stdio::inherit()).output().expect("the program starts");
    let took = start.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}: {text}", output.status);
    (took, text)
}

/// The middle of several durations.
pub(crate) fn median(durations: &[Duration]) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// The duration that this part of several does not exceed, in percent.
pub(crate) fn percentile(durations: &[Duration], percent: usize) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// A line of the report.
pub(crate) fn report(what: &str, duration: Duration) {
    println!("  {what:<66} {:>9.2} ms", milliseconds(duration));
}

/// A ratio of the report, with what we aim at.
pub(crate) fn ratio(what: &str, one: Duration, other: Duration, aim: &str) {
    println!("  {what:<66} {:>9.2} x   (aim: {aim})", one.as_secs_f64() / other.as_secs_f64());
}
