//! A switch whose ports are polled by two packet threads, each with two queues of receive: the
//! kernel's devices through DPDK's driver for packet sockets.

use super::{Daemons, vsctl};
use std::time::Duration;

/// How long a frame may take that another thread forwards than the one whose frame is waited for.
/// The threads sleep at most half a millisecond; the rest is for a machine that has other work.
pub(super) const LATE: Duration = Duration::from_millis(30);

/// Starts Open vSwitch with two packet threads.
pub(super) fn daemons() -> Daemons {
    let daemons = Daemons::builder().dpdk(true).dpdk_memory(512).start().expect("Open vSwitch");
    vsctl(&daemons, "set Open_vSwitch . other_config:pmd-cpu-mask=0x3");
    daemons
}

/// What makes the new port of a device one of the packet threads, for `ovs-vsctl`.
pub(super) fn interface(device: &str) -> String {
    let driver = format!("\"eth_af_packet_{device},iface={device},qpairs=2\"");
    format!(" -- set Interface {device} type=dpdk options:dpdk-devargs={driver} options:n_rxq=2")
}

/// Checks that both threads have queues of ports.
pub(super) fn assert_both_poll(daemons: &Daemons) {
    let queues = daemons.appctl(&["dpif-netdev/pmd-rxq-show"]).expect("ovs-appctl");
    let threads = queues.split("pmd thread").skip(1).filter(|thread| thread.contains("queue-id"));
    assert_eq!(threads.count(), 2, "{queues}");
}
