//! Notifications.

use super::{Node, device, ip, output_of};
use nix::sched::{CloneFlags, unshare};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};
use usnet_dataplane::links::{KernelLinks, LinkMonitor, Links};

/// Whether there is a notification within a second.
fn is_notified(monitor: &LinkMonitor) -> bool {
    let end = Instant::now() + Duration::from_secs(1);
    let mut byte = [0];
    while Instant::now() < end {
        let flags = nix::sys::socket::MsgFlags::MSG_PEEK | nix::sys::socket::MsgFlags::MSG_DONTWAIT;
        if nix::sys::socket::recv(monitor.as_fd().as_raw_fd(), &mut byte, flags).is_ok() {
            monitor.drain().expect("the notifications");
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn each_change_of_a_device_or_of_its_underlay_is_notified() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let monitor = LinkMonitor::open(None).expect("a socket");
    let name = device("blue");
    for change in [
        format!("link set {name} down"),
        "link set eth0 mtu 1460".to_owned(),
        "addr add 10.0.0.8/24 dev eth0".to_owned(),
        format!("link set {name} name other"),
        "link del other".to_owned(),
    ] {
        ip(&change);
        assert!(is_notified(&monitor), "{change}");
    }
    for change in ["gro on", "gro off"] {
        output_of(&format!("ethtool -K eth0 {change}"));
        assert!(is_notified(&monitor), "{change}");
    }
    node.observe();
    monitor.drain().expect("no notification");
    let quiet = nix::sys::socket::recv(monitor.as_fd().as_raw_fd(), &mut [0], nix::sys::socket::MsgFlags::MSG_DONTWAIT);
    assert!(quiet.is_err(), "an observation changes nothing");
}

#[test]
fn sockets_are_of_the_namespace_that_they_are_opened_for() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let namespace = std::fs::canonicalize("/proc/thread-self").expect("this thread").join("ns/net");
    let of_this_thread = std::fs::File::open(&namespace).expect("its namespace");
    let path = format!("/proc/self/fd/{}", of_this_thread.as_raw_fd());
    unshare(CloneFlags::CLONE_NEWNET).expect("another network namespace");
    let mut here = KernelLinks::open(None).expect("a socket");
    let mut there = KernelLinks::open(Some(path.as_ref())).expect("a socket");
    let devices = |links: &mut KernelLinks| links.observe(&[].into()).expect("the devices").vxlans.len();
    assert_eq!((devices(&mut here), devices(&mut there)), (0, 1));
}
