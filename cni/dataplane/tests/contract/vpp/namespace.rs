//! A network namespace as a pod has one.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A network namespace that exists as long as this value.
#[derive(Debug)]
pub(crate) struct Namespace {
    holder: Child,
}

impl Namespace {
    pub(crate) fn new() -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "unshare", "--net", "--", "sleep", "infinity"]);
        let holder = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("unshare");
        let namespace = Self { holder };
        let end = Instant::now() + Duration::from_secs(10);
        let own = fs::read_link("/proc/self/ns/net").expect("the namespace of the test");
        while fs::read_link(namespace.path()).is_ok_and(|other| other == own) {
            assert!(Instant::now() < end, "no namespace was created");
            sleep(Duration::from_millis(2));
        }
        namespace
    }

    /// Its file.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.holder.id()))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.kill().and_then(|()| self.holder.wait()));
    }
}
