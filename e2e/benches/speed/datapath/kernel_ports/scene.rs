//! A switch with two pairs of pods: one is set up by hand, and one as usnet does.

use crate::host::namespaces::{of_pod, within};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use usnet_dataplane::isolation;
use usnet_dataplane::netlink::Ethtool;
use usnet_dataplane::port::{DeviceRole, UNKNOWN_SEGMENTATION};
use usnet_test_openvswitch::OpenVswitch;

const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 0, 1], [10, 9, 0, 2]];
const CHECKSUMS: &str = "tx-checksum-ip-generic";

/// How frames come to the switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Kernel,
    AfXdp,
    /// By the kernel, to a switch with segmentation offload, to which pods leave checksums.
    Offload,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Kernel, Self::AfXdp, Self::Offload];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "`Kernel`",
            Self::AfXdp => "`AFXDP`",
            Self::Offload => "`Kernel`, segmentation offload",
        }
    }

    const fn interface_type(self) -> &'static str {
        match self {
            Self::Kernel | Self::Offload => "system",
            Self::AfXdp => "afxdp",
        }
    }
}

/// Two pods on a bridge of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    ByHand,
    Usnet,
}

impl Pair {
    pub(super) const ALL: [Self; 2] = [Self::ByHand, Self::Usnet];

    const fn bridge(self) -> &'static str {
        match self {
            Self::ByHand => "br-hand",
            Self::Usnet => "br-usnet",
        }
    }

    const fn place(self, pod: usize) -> usize {
        match self {
            Self::ByHand => pod,
            Self::Usnet => ADDRESSES.len() + pod,
        }
    }

    /// The network namespace of one of the pods.
    pub(super) fn pod(self, pod: usize) -> PathBuf {
        of_pod(self.place(pod))
    }
}

pub(super) struct Scene {
    switch: OpenVswitch,
}

impl Scene {
    pub(super) fn new(way: Way) -> Self {
        let mut switch = OpenVswitch::builder().without_vswitchd().start().expect("a database");
        let offload = format!("other_config:userspace-tso-enable={}", way == Way::Offload);
        // The other core is that of the pods.
        let polling = ["other_config:pmd-cpu-mask=0x1", "other_config:pmd-maxsleep=0"];
        let configured = ["--no-wait", "set", "Open_vSwitch", ".", &offload].into_iter().chain(polling);
        switch.vsctl(&configured.collect::<Vec<_>>()).expect("the database answers");
        switch.start_vswitchd().expect("Open vSwitch starts");
        let scene = Self { switch };
        for pair in Pair::ALL {
            let bridge = pair.bridge();
            scene.vsctl(&format!("add-br {bridge} -- set Bridge {bridge} datapath_type=netdev"));
            for pod in 0..ADDRESSES.len() {
                scene.add_pod(way, pair, pod);
            }
            for (pod, other) in [(0, 1), (1, 0)] {
                let link = within(&pair.pod(other), || ip("-o link show net1"));
                let mac = link.split_once("link/ether ").and_then(|(_, rest)| rest.split_whitespace().next());
                let neighbor =
                    format!("neigh replace {} lladdr {} dev net1", address(other), mac.expect("its address"));
                within(&pair.pod(pod), || ip(&neighbor));
            }
        }
        scene
    }

    fn vsctl(&self, words: &str) {
        self.switch.vsctl(&words.split(' ').collect::<Vec<_>>()).expect("the database answers");
    }

    fn add_pod(&self, way: Way, pair: Pair, pod: usize) {
        let (node, namespace) = (self.switch.network_namespace(), pair.pod(pod));
        let device = format!("port{}", pair.place(pod));
        let file = File::open(&namespace).expect("a network namespace");
        let there = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        within(&node, || {
            ip(&format!("link add {device} type veth peer name net1 netns {there}"));
            if pair == Pair::Usnet {
                isolation::isolate(&device).expect("nftables for devices");
            }
            set_up(&device, DeviceRole::EngineEndpoint, way, pair);
            ip(&format!("link set {device} up"));
        });
        within(&namespace, || {
            set_up("net1", DeviceRole::PodEndpoint, way, pair);
            ip("link set lo up");
            ip("link set net1 up");
            ip(&format!("addr add {}/24 dev net1", address(pod)));
        });
        let bridge = pair.bridge();
        let mtu = if pair == Pair::Usnet { " mtu_request=1500" } else { "" };
        let kind = way.interface_type();
        self.vsctl(&format!("add-port {bridge} {device} -- set Interface {device} type={kind}{mtu}"));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The pods' ends are in namespaces that outlive the switch.
        for pair in Pair::ALL {
            for pod in 0..ADDRESSES.len() {
                within(&pair.pod(pod), || ip("link del net1"));
            }
        }
    }
}

/// The offloads of a device, in its network namespace.
fn set_up(device: &str, role: DeviceRole, way: Way, pair: Pair) {
    let index = nix::net::if_::if_nametoindex(device).expect("the device");
    let has_offload = way == Way::Offload;
    let off = role.offloads_off().iter().filter(|_| !has_offload).map(|name| (*name, false));
    let left = UNKNOWN_SEGMENTATION.iter().filter(|_| has_offload && pair == Pair::Usnet);
    let mut changes: Vec<_> = off.chain(left.map(|name| (*name, false))).collect();
    changes.extend(has_offload.then_some((CHECKSUMS, true)));
    Ethtool::open().and_then(|mut ethtool| ethtool.set_features(index, &changes)).expect("offloads");
}

pub(super) fn address(pod: usize) -> IpAddr {
    IpAddr::from(ADDRESSES[pod])
}

pub(super) fn ip(arguments: &str) -> String {
    let output = std::process::Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
