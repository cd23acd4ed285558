//! `usnet node capture` as a process: however it ends, nothing is left.

mod testbed;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use testbed::{Testbed, until, usnet};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::capture::lease::Leases;

struct Capture {
    process: Child,
    file: PathBuf,
}

impl Capture {
    /// Of interface net1 of pod default/c1, to a file of its own.
    fn spawn(testbed: &Testbed, arguments: &[&str]) -> Self {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = testbed.ovs.folder().join(format!("frames{number}.pcapng"));
        let mut command = usnet(&testbed.paths);
        command.args(["node", "capture", "default/c1", "net1", "--write"]).arg(&file).args(arguments);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { process, file }
    }

    /// The engine has connected once the file has been started.
    fn wait_until_connected(&self) {
        until("the file begins", || fs::metadata(&self.file).is_ok_and(|file| file.len() > 28));
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    fn end(self) -> (bool, String) {
        let Output { status, stderr, .. } = self.process.wait_with_output().unwrap();
        (status.success(), String::from_utf8_lossy(&stderr).trim().to_owned())
    }
}

fn is_clean(testbed: &Testbed) -> bool {
    let mirrors = testbed.vsctl("--bare --columns=name list Mirror");
    let ports = testbed.vsctl("list-ports br-blue");
    mirrors.is_empty() && !ports.contains("usnet-cap") && Leases::new(&testbed.paths).described().is_empty()
}

#[test]
fn whatever_ends_a_capture_nothing_is_left() {
    let testbed = Testbed::start();
    let endless = ["--seconds", "3600"];
    let limited = Capture::spawn(&testbed, &["--seconds", "1"]).end();
    assert_eq!((limited.0, is_clean(&testbed)), (true, true), "{limited:?}");
    assert!(limited.1.contains("0 frames captured") && limited.1.contains("--seconds"), "{limited:?}");

    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let stopped = Capture::spawn(&testbed, &endless);
        stopped.wait_until_connected();
        let second = Capture::spawn(&testbed, &endless).end();
        assert!(!second.0 && second.1.contains("is captured already"), "{second:?}");
        stopped.signal(signal);
        let stopped = stopped.end();
        assert_eq!((stopped.0, is_clean(&testbed)), (true, true), "{stopped:?}");
    }

    let mut forsaken = Capture::spawn(&testbed, &["--seconds", "3600", "--until-stdin-ends"]);
    forsaken.wait_until_connected();
    drop(forsaken.process.stdin.take());
    assert_eq!((forsaken.end().0, is_clean(&testbed)), (true, true));
    // DPDK uses freed memory if that happens while the port is removed.
    let log = fs::read_to_string(testbed.ovs.control_socket().with_extension("log")).unwrap();
    assert!(log.contains("free connfd"), "the log of DPDK has other words now");
    assert!(!log.contains("vhost peer closed"), "a program closed its connection before its port was removed");

    let killed = Capture::spawn(&testbed, &endless);
    killed.wait_until_connected();
    killed.signal(Signal::SIGKILL);
    assert!(!killed.end().0);
    until("the agent cleans", || is_clean(&testbed));

    let detached = Capture::spawn(&testbed, &endless);
    detached.wait_until_connected();
    testbed.write(&Record { progress: Progress::Detached, ..testbed.pod.clone() });
    let detached = detached.end();
    assert!(detached.0 && detached.1.contains("was detached"), "{detached:?}");
    assert!(is_clean(&testbed));
    let missing = Capture::spawn(&testbed, &endless).end();
    assert!(!missing.0 && missing.1.contains("has no attached interface"), "{missing:?}");
}

#[test]
fn a_capture_killed_at_any_moment_leaves_nothing() {
    let testbed = Testbed::start();
    for moment in 0..6_u64 {
        let killed = Capture::spawn(&testbed, &["--seconds", "3600"]);
        // From before its first step to after its last one.
        std::thread::sleep(std::time::Duration::from_millis(4 * moment * moment));
        killed.signal(Signal::SIGKILL);
        assert!(!killed.end().0);
        until("the agent cleans", || is_clean(&testbed));
    }
}

#[test]
fn a_switch_that_does_not_act_is_an_error() {
    let mut testbed = Testbed::start();
    testbed.ovs.kill_vswitchd().unwrap();
    let refused = Capture::spawn(&testbed, &["--seconds", "3600"]).end();
    assert!(!refused.0 && refused.1.contains("did not act on it"), "{refused:?}");
    testbed.ovs.start_vswitchd().unwrap();
    until("nothing is left", || is_clean(&testbed));
}
