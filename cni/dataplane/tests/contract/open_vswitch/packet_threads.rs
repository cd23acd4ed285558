//! Which threads of a switch have the frames of kernel devices.

use super::{Daemons, vsctl};
use std::thread::available_parallelism;
use std::time::Duration;

/// How long a frame may take that another thread forwards than the one whose frame is waited for.
/// The threads sleep at most half a millisecond; the rest is for a machine that has other work.
const LATE: Duration = Duration::from_millis(30);

/// What has the frames of kernel devices in a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramesBy {
    /// Its main thread, by packet sockets.
    MainThread,
    /// Two packet threads, each with two queues of each device, by DPDK's driver for packet
    /// sockets.
    TwoThreads,
    /// One packet thread, by AF_XDP.
    AfXdp,
}

impl FramesBy {
    /// Starts Open vSwitch.
    pub(super) fn daemons(self) -> Daemons {
        match self {
            Self::MainThread => Daemons::start().expect("Open vSwitch"),
            Self::TwoThreads => {
                let daemons = Daemons::builder().dpdk(true).dpdk_memory(512).start().expect("Open vSwitch");
                vsctl(&daemons, "set Open_vSwitch . other_config:pmd-cpu-mask=0x3");
                daemons
            }
            Self::AfXdp => {
                let mut daemons = Daemons::builder().without_vswitchd().start().expect("Open vSwitch");
                sleep_on_the_last_cpu(&daemons);
                daemons.start_vswitchd().expect("ovs-vswitchd");
                daemons
            }
        }
    }

    /// What makes the new port of a device one of these threads, for `ovs-vsctl`.
    pub(super) fn interface(self, device: &str) -> String {
        match self {
            Self::MainThread => String::new(),
            Self::TwoThreads => {
                let driver = format!("\"eth_af_packet_{device},iface={device},qpairs=2\"");
                format!(" -- set Interface {device} type=dpdk options:dpdk-devargs={driver} options:n_rxq=2")
            }
            Self::AfXdp => format!(" -- set Interface {device} type=afxdp options:xdp-mode=best-effort"),
        }
    }

    /// Checks that the threads have queues of ports.
    pub(super) fn assert_poll(self, daemons: &Daemons) {
        let expected = match self {
            Self::MainThread => return,
            Self::TwoThreads => 2,
            Self::AfXdp => 1,
        };
        let queues = daemons.appctl(&["dpif-netdev/pmd-rxq-show"]).expect("ovs-appctl");
        let threads = queues.split("pmd thread").skip(1).filter(|thread| thread.contains("queue-id"));
        assert_eq!(threads.count(), expected, "{queues}");
    }

    /// How long to wait for what other threads forward; none where frames arrive in order.
    pub(super) fn wait_for_others(self) {
        if self == Self::TwoThreads {
            std::thread::sleep(LATE);
        }
    }
}

/// Has the packet thread run on the last CPU, and sleep while there is nothing to do.
fn sleep_on_the_last_cpu(daemons: &Daemons) {
    let last_cpu = available_parallelism().map_or(0, |cpus| cpus.get() - 1).min(63);
    let settings = format!("other_config:pmd-cpu-mask=0x{:x} other_config:pmd-maxsleep=200", 1_u64 << last_cpu);
    vsctl(daemons, &format!("--no-wait set Open_vSwitch . {settings}"));
}
