//! How fast Open vSwitch carries frames by each driver of one NIC, one after the other between the
//! same machines. The other end of the cable is a host without usnet, the same for all drivers.

use crate::bed::{Bed, run};
use crate::pod::Pod;
use crate::report;
use crate::setup::{Driver, Engine, PCI, Setup};
use crate::traffic::{Datagrams, Transfer, await_reachable, transfer};
use serde_json::json;
use usnet_e2e::machines::model::NicModel;
use usnet_e2e::machines::processors::Work;

/// The first one is what others are compared with.
const DRIVERS: [Driver; 3] = [Driver::AfPacket, Driver::AfXdp, Driver::Dpdk];
/// A machine that waits for its turn is slower: the median of these counts.
const ROUNDS: usize = 3;
const SMALL: Datagrams = Datagrams { frames: 20_480, bytes: 64 };
/// Frames that fit into the buffer of a packet socket, so that none is lost. Then a processor that
/// waits for its turn decides the speed, more than the driver.
const WINDOW: u64 = 64;

#[derive(Debug, Clone, Copy)]
enum Load {
    /// The sender waits for the receiver after each window.
    ToPod,
    FromPod,
    /// The sender does not wait.
    Overload,
}

impl Load {
    const fn name(self) -> &'static str {
        match self {
            Self::ToPod => "to a pod, sender waits, none lost",
            Self::FromPod => "from a pod, sender waits, none lost",
            Self::Overload => "to a pod, sender does not wait",
        }
    }
}

const LOADS: [Load; 3] = [Load::ToPod, Load::FromPod, Load::Overload];

/// What a load came to. Times are of the node with the driver, in microseconds for each frame.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// Frames per second.
    offered: f64,
    received: f64,
    node: f64,
    switch: f64,
}

#[test]
fn open_vswitch_loses_no_frame_that_a_sender_paces_by_each_driver() {
    let Some(bed) = Bed::start(Setup::new(Engine::Ovs, DRIVERS[0], NicModel::E1000e)) else { return };
    let host = host(&bed);
    run(&bed.pair.right, &format!("mkdir -p /machine/manifests && /machine/node agent {}", bed.program("usnet")));
    let rounds: Vec<_> = (0..ROUNDS).map(|_| DRIVERS.map(|driver| of_driver(&bed, &host, driver))).collect();
    for (number, load) in LOADS.into_iter().enumerate() {
        let of = |driver: usize| rounds.iter().map(|round| round[driver][number]).collect::<Vec<_>>();
        for (driver, name) in DRIVERS.map(Driver::name).into_iter().enumerate() {
            print(load, name, &of(driver), &of(0));
        }
    }
}

/// A host outside of usnet at the other end of the cable, in the VLAN of the network.
fn host(bed: &Bed) -> Pod<'_> {
    let host = Pod::with_addresses(&bed.pair.left, "host", 1, bed);
    run(
        host.machine,
        "set -e; ip netns add host; ip -n host link set lo up; ip link set eth1 up; \
         ip link add link eth1 name fab netns host type vlan id 142",
    );
    host.configure("fab");
    host
}

/// Gives the NIC to the switch by a driver, measures, and takes it back.
fn of_driver(bed: &Bed, host: &Pod<'_>, driver: Driver) -> [Figures; LOADS.len()] {
    let node = &bed.pair.right;
    let setup = Setup { driver, ..bed.setup };
    Bed::apply(node, &setup.manifests(&json!({"type": "PciAddress", "pciAddress": PCI})));
    Bed::await_uplink(node, "Programmed", "");
    Bed::await_networks(node);
    let pod = Pod::attach(bed, node, "tagged", 1);
    await_reachable(&pod, host.ipv4);
    let figures = LOADS.map(|load| {
        let figures = of_load(load, host, &pod);
        println!("{setup}: {load:?}: {figures:?}");
        figures
    });
    pod.detach(bed, "tagged");
    Bed::apply(node, "");
    Bed::await_no_uplink(node);
    figures
}

fn of_load(load: Load, host: &Pod<'_>, pod: &Pod<'_>) -> Figures {
    let Transfer { sent, arrived } = match load {
        Load::ToPod => transfer(host, pod, pod.ipv4, SMALL, WINDOW),
        Load::FromPod => transfer(pod, host, host.ipv4, SMALL, WINDOW),
        Load::Overload => transfer(host, pod, pod.ipv4, SMALL, 0),
    };
    match load {
        Load::ToPod | Load::FromPod => assert_eq!(arrived.count.unique, SMALL.frames, "{load:?}"),
        Load::Overload => assert_ne!(arrived.count.unique, 0, "{load:?}"),
    }
    let of_node = if matches!(load, Load::FromPod) { sent } else { arrived.work };
    Figures {
        offered: rate(sent),
        received: rate(arrived.work),
        node: per_frame(of_node.node, of_node),
        switch: per_frame(of_node.switch, of_node),
    }
}

#[expect(clippy::cast_precision_loss, reason = "frames are few")]
fn rate(work: Work) -> f64 {
    work.frames as f64 / work.seconds
}

#[expect(clippy::cast_precision_loss, reason = "frames are few")]
fn per_frame(seconds: f64, work: Work) -> f64 {
    seconds * 1e6 / work.frames as f64
}

/// The figure of each round in ascending order.
fn sorted(rounds: &[Figures], figure: fn(&Figures) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = rounds.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A row with ratios, the medians that they are of, and the extremes of what arrived.
fn print(load: Load, driver: &str, rounds: &[Figures], compared: &[Figures]) {
    let median = |rounds: &[Figures], figure| sorted(rounds, figure)[ROUNDS / 2];
    let cell = |figure: fn(&Figures) -> f64, unit: &str| {
        let of = median(rounds, figure);
        format!("{:.2} ({of:.0}{unit})", of / median(compared, figure))
    };
    let received = sorted(rounds, |figures| figures.received);
    report::row(
        "Frames of 64 bytes by the drivers of one e1000e with Open vSwitch: ratios to AFPacket. The NIC and the processors are emulated \
         without KVM, so that figures are only comparable with each other",
        &[
            "frames",
            "driver",
            "offered",
            "received",
            "slowest and fastest round",
            "processors of the node a frame",
            "switch alone",
        ],
        vec![
            load.name().to_owned(),
            driver.to_owned(),
            cell(|figures| figures.offered, "/s"),
            cell(|figures| figures.received, "/s"),
            format!("{:.0}, {:.0}/s", received[0], received[ROUNDS - 1]),
            cell(|figures| figures.node, " us"),
            cell(|figures| figures.switch, " us"),
        ],
    );
}
