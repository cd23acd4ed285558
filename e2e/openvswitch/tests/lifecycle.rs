//! The helper itself: it works, two run side by side, and nothing of it is left.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use usnet_test_openvswitch::OpenVswitch;

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the processes whose command line contains the folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let needle = folder.display().to_string();
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|line| line.contains(&needle))
        .collect()
}

#[test]
fn bridge_is_made_in_own_namespace() {
    let ours = OpenVswitch::start().expect("start");
    let other = OpenVswitch::start().expect("start a second one");
    ours.vsctl(&["add-br", "br-helper", "--", "set", "Bridge", "br-helper", "datapath_type=netdev"]).expect("add-br");

    let ofport = ours.vsctl(&["get", "Interface", "br-helper", "ofport"]).expect("ofport");
    assert_eq!(ofport.trim(), "65534");
    assert!(!Path::new("/sys/class/net/br-helper").exists(), "the tap device is on the machine");
    let inside = ours.command("ip").args(["link", "show", "br-helper"]).output().expect("ip");
    assert!(inside.status.success(), "{inside:?}");
    assert_eq!(other.vsctl(&["list-br"]).expect("list-br"), "");
}

#[test]
fn drop_leaves_nothing() {
    let ours = OpenVswitch::start().expect("start");
    ours.vsctl(&["add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev"]).expect("add-br");
    let folder = ours.folder().to_owned();
    assert!(!processes_of(&folder).is_empty());
    drop(ours);
    assert_eq!(processes_of(&folder), Vec::<String>::new());
    assert!(!folder.exists());
}

#[test]
fn daemons_can_be_killed_and_started() {
    let mut ours = OpenVswitch::start().expect("start");
    ours.kill_vswitchd().expect("kill");
    let error = ours.vsctl(&["--timeout=1", "add-br", "br0"]).expect_err("no vswitchd acts on it");
    assert!(error.to_string().contains("signal"), "{error}");
    ours.start_vswitchd().expect("start again");
    assert_eq!(ours.vsctl(&["list-br"]).expect("list-br").trim(), "br0");

    ours.kill_ovsdb_server().expect("kill");
    assert!(UnixStream::connect(ours.socket()).is_err());
    ours.start_ovsdb_server().expect("start again");
    ours.vsctl(&["del-br", "br0"]).expect("both work together again");
}

#[test]
fn vhost_user_port_works_with_dpdk_only() {
    let ours = OpenVswitch::builder().dpdk(true).start().expect("start");
    assert_eq!(ours.vsctl(&["get", "Open_vSwitch", ".", "dpdk_initialized"]).expect("get").trim(), "true");
    let path = format!("options:vhost-server-path={}/v.sock", ours.folder().display());
    ours.vsctl(&["add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev"]).expect("add-br");
    ours.vsctl(&["add-port", "br0", "v0", "--", "set", "Interface", "v0", "type=dpdkvhostuserclient", &path])
        .expect("add-port");
    let ofport = ours.vsctl(&["get", "Interface", "v0", "ofport"]).expect("ofport");
    assert!(ofport.trim().parse::<i32>().expect("a number") > 0, "{ofport}");
}

/// Runs as a child process of the next test: starts an Open vSwitch, reports it, and waits to be
/// killed.
#[test]
#[ignore = "started by kill_of_the_test_leaves_nothing"]
fn hold() {
    let ours = OpenVswitch::start().expect("start");
    println!("folder={}", ours.folder().display());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn kill_of_the_test_leaves_nothing() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().expect("own program"))
        .args(["--ignored", "--exact", "hold", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines().map(|line| line.expect("line"));
    let folder = lines.find_map(|line| line.split_once("folder=").map(|(_, path)| PathBuf::from(path))).expect("path");
    assert!(processes_of(&folder).len() >= 4, "{:?}", processes_of(&folder));
    child.kill().expect("kill");
    child.wait().expect("wait");
    until("all processes gone", || processes_of(&folder).is_empty());
    until("folder gone", || !folder.exists());
}
