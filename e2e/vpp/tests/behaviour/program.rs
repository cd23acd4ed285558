//! The simulator as a program.

use std::process::{Child, Command};
use std::time::{Duration, Instant};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::ShowVersion;

const AMPLE: Duration = Duration::from_secs(30);

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn it_serves_until_a_fault_ends_it() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("other.sock");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vpp-simulator"));
    command.arg("--folder").arg(folder.path()).arg("--socket").arg(&socket).args(["--fault", "die after 2"]);
    let mut program = Program(command.spawn().expect("start"));
    let end = Instant::now() + AMPLE;
    let mut client = loop {
        match Client::connect(&socket, AMPLE) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut batch = Batch::new();
    batch.request(ShowVersion {});
    client.send(&batch).expect("the first is answered");
    assert!(client.send(&batch).is_err(), "the second ends it");
    assert!(!program.0.wait().expect("wait").success());
    let log = std::fs::read_to_string(folder.path().join("messages.log")).expect("log");
    assert_eq!(log.lines().count(), 2);
}

#[test]
fn it_says_why_it_does_not_start() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("write");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vpp-simulator"));
    let output = command.arg("--folder").arg(&file).output().expect("run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(&*file.to_string_lossy()), "{said}");
}
