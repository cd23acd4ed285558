//! What arrives at a pod of another node: each datagram is counted, and each stream timed.

use crate::bed::{eventually, run};
use crate::pod::Pod;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use usnet_e2e::machines::datagrams::{Arrived, Count, WINDOW};
use usnet_e2e::machines::measure::Stream;
use usnet_e2e::machines::processors::Work;

/// The program that measures, which machines run as they see this machine's files.
const PROGRAM: &str = env!("CARGO_BIN_EXE_machines");
/// A measurement has to end within this time.
const LIMIT: Duration = Duration::from_secs(240);

/// Numbered datagrams.
#[derive(Clone, Copy)]
pub(crate) struct Datagrams {
    pub(crate) frames: u64,
    /// Of each, without headers.
    pub(crate) bytes: usize,
}

/// Datagrams that were sent and those that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) sent: Work,
    pub(crate) arrived: Arrived,
}

/// Sends datagrams from one pod to the other, and counts those that arrive.
pub(crate) fn count(from: &Pod<'_>, to: &Pod<'_>, address: IpAddr, datagrams: Datagrams) -> Count {
    transfer(from, to, address, datagrams, WINDOW).arrived.count
}

/// The same with what both nodes did meanwhile. After each window of datagrams, the sender waits
/// for the receiver; with a window of 0 never.
pub(crate) fn transfer(
    from: &Pod<'_>,
    to: &Pod<'_>,
    address: IpAddr,
    Datagrams { frames, bytes }: Datagrams,
    window: u64,
) -> Transfer {
    let mut sent = String::new();
    let arrived = receiving(to, &format!("count --frames {frames} --window {window}"), || {
        let send = format!("{PROGRAM} measure send {address} --frames {frames} --bytes {bytes} --window {window}");
        sent = in_pod(from, &send);
    });
    Transfer { sent: serde_json::from_str(&sent).unwrap(), arrived: serde_json::from_str(&arrived).unwrap() }
}

/// The same both ways at once: from the first to the second, and back.
pub(crate) fn count_both_ways(first: &Pod<'_>, second: &Pod<'_>, datagrams: Datagrams) -> [Count; 2] {
    thread::scope(|scope| {
        let back = scope.spawn(|| count(second, first, first.ipv4, datagrams));
        let there = count(first, second, second.ipv4, datagrams);
        [there, back.join().unwrap()]
    })
}

/// A TCP stream from one pod to the other.
pub(crate) fn stream(from: &Pod<'_>, to: &Pod<'_>, bytes: usize) -> Stream {
    let mut text = String::new();
    receiving(to, "receive", || {
        text = in_pod(from, &format!("{PROGRAM} measure stream {} --bytes {bytes}", to.ipv4));
    });
    serde_json::from_str(&text).unwrap()
}

/// Waits until a ping is answered, without which the first datagrams would wait for the resolution
/// of addresses.
#[track_caller]
pub(crate) fn await_reachable(from: &Pod<'_>, address: IpAddr) {
    eventually(&format!("{} reaches {address}", from.name), || {
        let command = from.command(&format!("busybox ping -c 1 -W 1 {address}"));
        from.machine.run(&command).map(drop).map_err(|error| error.to_string())
    });
}

/// Starts a receiver in a pod, does something once it listens, and gives what it prints.
fn receiving(pod: &Pod<'_>, receiver: &str, sending: impl FnOnce()) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let ready = format!("ready-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let file: PathBuf = pod.machine.share().join(&ready);
    thread::scope(|scope| {
        let receiving = scope.spawn(|| in_pod(pod, &format!("{PROGRAM} measure {receiver} --ready /machine/{ready}")));
        eventually(&format!("{} listens", pod.name), || fs::metadata(&file).map_err(|error| error.to_string()));
        sending();
        receiving.join().unwrap()
    })
}

fn in_pod(pod: &Pod<'_>, command: &str) -> String {
    let output = pod.machine.output(&pod.command(command), LIMIT).unwrap();
    assert_eq!(output.status, 0, "{command} in {}: {}{}", pod.name, output.stdout, output.stderr);
    output.stdout
}

/// The counters of the node's switch, for the text of a failure.
pub(crate) fn counters(pod: &Pod<'_>) -> String {
    run(pod.machine, "ovs-vsctl --timeout=5 --columns=name,statistics list Interface 2>/dev/null || true")
}
