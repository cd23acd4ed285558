//! The release binaries under test, and time.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

/// The plugin mounts; with a mount namespace of our own nothing of it outlives us.
pub(crate) fn private_mounts() {
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace (are you root?)");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .expect("private mounts");
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
