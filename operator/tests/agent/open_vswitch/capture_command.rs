//! `usnet node capture` as a process: however it ends, nothing is left.

use super::attachments::testbed_with_pod;
use super::testbed::OvsTestbed;
use crate::support::node::until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::capture::lease::Leases;

struct Capture {
    process: Child,
    file: PathBuf,
}

impl Capture {
    /// Of interface net1 of pod default/c1, to a file of its own.
    fn spawn(testbed: &OvsTestbed, arguments: &[&str]) -> Self {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = testbed.ovs.folder().join(format!("frames{number}.pcapng"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_usnet"));
        command.env("USNET_RUN_DIR", &testbed.paths.run).env("USNET_STATE_DIR", &testbed.paths.state);
        command.env(EngineKind::OpenVswitch.traits().socket_variable, testbed.ovs.socket());
        command.args(["node", "capture", "default/c1", "net1", "--write"]).arg(&file).args(arguments);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { process, file }
    }

    /// The engine has connected once the file has been started.
    fn wait_until_connected(&self) {
        until("the file begins", || fs::metadata(&self.file).is_ok_and(|file| file.len() > 28).then_some(()));
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    fn end(self) -> (bool, String) {
        let Output { status, stderr, .. } = self.process.wait_with_output().unwrap();
        (status.success(), String::from_utf8_lossy(&stderr).trim().to_owned())
    }
}

fn is_clean(testbed: &OvsTestbed) -> bool {
    let mirrors = testbed.vsctl("--bare --columns=name list Mirror");
    let ports = testbed.vsctl("list-ports br-blue");
    mirrors.is_empty() && !ports.contains("usnet-cap") && Leases::new(&testbed.paths).described().is_empty()
}

#[test]
fn whatever_ends_a_capture_nothing_is_left() {
    let (testbed, _agent, pod) = testbed_with_pod();
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

    let killed = Capture::spawn(&testbed, &endless);
    killed.wait_until_connected();
    killed.signal(Signal::SIGKILL);
    assert!(!killed.end().0);
    until("the agent cleans", || is_clean(&testbed).then_some(()));

    let detached = Capture::spawn(&testbed, &endless);
    detached.wait_until_connected();
    testbed.write(&Record { progress: Progress::Detached, ..pod });
    let detached = detached.end();
    assert!(detached.0 && detached.1.contains("was detached"), "{detached:?}");
    assert!(is_clean(&testbed));
    let missing = Capture::spawn(&testbed, &endless).end();
    assert!(!missing.0 && missing.1.contains("has no attached interface"), "{missing:?}");
}

#[test]
fn a_capture_killed_at_any_moment_leaves_nothing() {
    let (testbed, _agent, _pod) = testbed_with_pod();
    for moment in 0..6_u64 {
        let killed = Capture::spawn(&testbed, &["--seconds", "3600"]);
        // From before its first step to after its last one.
        std::thread::sleep(std::time::Duration::from_millis(4 * moment * moment));
        killed.signal(Signal::SIGKILL);
        assert!(!killed.end().0);
        until("the agent cleans", || is_clean(&testbed).then_some(()));
    }
}

#[test]
fn a_switch_that_does_not_act_is_an_error() {
    let (mut testbed, _agent, _pod) = testbed_with_pod();
    testbed.ovs.kill_vswitchd().unwrap();
    let refused = Capture::spawn(&testbed, &["--seconds", "3600"]).end();
    assert!(!refused.0 && refused.1.contains("did not act on it"), "{refused:?}");
    testbed.ovs.start_vswitchd().unwrap();
    until("nothing is left", || is_clean(&testbed).then_some(()));
}
