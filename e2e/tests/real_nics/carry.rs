//! What uplinks carry: numbered frames of both networks, frames of the full MTU, IPv4, IPv6, and
//! TCP, compared with the same set-up made by hand.

use crate::bed::Bed;
use crate::by_hand;
use crate::pod::Pod;
use crate::report;
use crate::setup::{Driver, Engine, PCI, Setup};
use crate::traffic::{Datagrams, await_reachable, count, count_both_ways, stream};
use serde_json::json;
use std::time::Instant;
use usnet_e2e::machines::datagrams::Count;
use usnet_e2e::machines::model::NicModel;

/// Frames each way; `make real-nics` has 100,000.
fn frames() -> u64 {
    std::env::var("USNET_REAL_NICS_FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000)
}

/// Frames of the full MTU.
const LARGE: u64 = 200;
/// Of the networks.
const MTU: usize = 1500;
/// Headers of IPv4 or IPv6, and UDP.
const IPV4: usize = 28;
const IPV6: usize = 48;
/// Bytes of a TCP stream.
const STREAM: usize = 4 << 20;
/// Of about 2,900 segments.
const SENT_AGAIN_MAX: u64 = 600;
/// Streams of each set-up, of which the fastest counts.
const STREAMS: usize = 3;

#[test]
fn open_vswitch_carries_all_frames_over_e1000e_by_a_packet_socket() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::E1000e));
}

#[test]
fn open_vswitch_carries_all_frames_over_igb_by_a_packet_socket() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::Igb));
}

#[test]
fn open_vswitch_carries_all_frames_over_virtio_by_a_packet_socket() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::Virtio));
}

/// Its driver has no XDP of its own: the kernel hands frames to the switch.
#[test]
fn open_vswitch_carries_all_frames_over_e1000e_by_af_xdp() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfXdp, NicModel::E1000e));
}

/// Several queues, of which the switch has to have all.
#[test]
fn open_vswitch_carries_all_frames_over_igb_by_af_xdp() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfXdp, NicModel::Igb));
}

#[test]
fn open_vswitch_carries_all_frames_over_virtio_by_af_xdp() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::AfXdp, NicModel::Virtio));
}

#[test]
fn open_vswitch_carries_all_frames_over_e1000e_by_dpdk() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::E1000e));
}

#[test]
fn open_vswitch_carries_all_frames_over_igb_by_dpdk() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::Igb));
}

#[test]
fn open_vswitch_carries_all_frames_over_virtio_by_dpdk() {
    carries_all_frames(Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::Virtio));
}

#[test]
fn vpp_carries_all_frames_over_e1000e_by_a_packet_socket() {
    carries_all_frames(Setup::new(Engine::Vpp, Driver::AfPacket, NicModel::E1000e));
}

fn carries_all_frames(setup: Setup) {
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let before = bed.on_both(Bed::nics);
    let manifests = setup.manifests(&json!({"type": "PciAddress", "pciAddress": PCI}));
    let begun = Instant::now();
    bed.on_both(|machine| Bed::apply(machine, &manifests));
    bed.on_both(|machine| {
        Bed::await_uplink(machine, "Programmed", "");
        Bed::await_networks(machine);
    });
    let programmed = begun.elapsed();
    println!("{setup}: uplinks and networks after {:.1} s", programmed.as_secs_f32());
    for (network, number) in networks(setup.engine).iter().copied() {
        let pods = bed.pair.both().map(|machine| Pod::attach(&bed, machine, network, number));
        await_reachable(&pods[0], pods[1].ipv4);
        await_reachable(&pods[0], pods[1].ipv6);
        counts_frames(setup, network, &pods);
        if network == "tagged" {
            streams(&bed, &pods);
        }
        for pod in &pods {
            pod.detach(&bed, network);
        }
    }
    bed.on_both(|machine| {
        Bed::apply(machine, "");
        Bed::await_no_uplink(machine);
    });
    let eth1 = |nics: &str| nics.split_once("eth1").map(|(_, eth1)| eth1.to_owned());
    let after = bed.on_both(Bed::nics);
    // The set-up by hand has the other one.
    assert_eq!(after.each_ref().map(|nics| eth1(nics)), before.each_ref().map(|nics| eth1(nics)));
}

/// The networks whose frames are counted. VPP loses some of those without a tag (docs/vpp.md).
const fn networks(engine: Engine) -> &'static [(&'static str, u8)] {
    match engine {
        Engine::Ovs => &[("tagged", 1), ("untagged", 2)],
        Engine::Vpp => &[("tagged", 1)],
    }
}

/// Small frames both ways at once, and frames of the full MTU.
fn counts_frames(setup: Setup, network: &str, pods: &[Pod<'_>; 2]) {
    let [left, right] = pods;
    let small = Datagrams { frames: frames(), bytes: 64 };
    let begun = Instant::now();
    let [there, back] = count_both_ways(left, right, small);
    let took = begun.elapsed();
    let large = |bytes| Datagrams { frames: LARGE, bytes };
    let ipv4 = count(left, right, right.ipv4, large(MTU - IPV4));
    let ipv6 = count(left, right, right.ipv6, large(MTU - IPV6));
    let lost = |count: Count, sent: u64| format!("{} lost, {} twice", sent - count.unique, count.total - count.unique);
    report::row(
        "Frames between pods of two nodes",
        &["set-up", "network", "each way", "there", "back", "full MTU, IPv4", "full MTU, IPv6", "took"],
        vec![
            setup.to_string(),
            network.to_owned(),
            small.frames.to_string(),
            lost(there, small.frames),
            lost(back, small.frames),
            format!("{} of {LARGE}", ipv4.unique),
            format!("{} of {LARGE}", ipv6.unique),
            format!("{:.1} s", took.as_secs_f32()),
        ],
    );
    let all = |frames| Count { unique: frames, total: frames };
    assert_eq!([there, back], [all(small.frames); 2], "{}", crate::traffic::counters(left));
    assert_eq!([ipv4, ipv6], [all(LARGE); 2]);
}

/// TCP, and the ratio of its time to that of the set-up by hand.
fn streams(bed: &Bed, pods: &[Pod<'_>; 2]) {
    let compared = (bed.setup.engine == Engine::Ovs).then(|| by_hand::pods(bed));
    if let Some(by_hand) = &compared {
        await_reachable(&by_hand[0], by_hand[1].ipv4);
    }
    let fastest = |pods: &[Pod<'_>; 2]| {
        let streams = (0..STREAMS).map(|_| stream(&pods[0], &pods[1], STREAM));
        streams.min_by(|one, other| one.seconds.total_cmp(&other.seconds)).unwrap()
    };
    let product = fastest(pods);
    let hand = compared.as_ref().map(fastest);
    let ratio = hand.map(|hand| product.seconds / hand.seconds);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "not measured".to_owned());
    report::row(
        "TCP, 4 MiB between pods of two nodes",
        &["set-up", "usnet", "sent again", "by hand", "sent again", "ratio of times"],
        vec![
            bed.setup.to_string(),
            format!("{:.2} s", product.seconds),
            product.retransmitted.to_string(),
            or_none(hand.map(|hand| format!("{:.2} s", hand.seconds))),
            or_none(hand.map(|hand| hand.retransmitted.to_string())),
            or_none(ratio.map(|ratio| format!("{ratio:.2}"))),
        ],
    );
    // Merged packets are dropped: each costs a timeout, so that the stream takes twenty times as
    // long and more than a third is sent again. An emulated processor that waits for its turn loses
    // some.
    assert!(ratio.is_none_or(|ratio| ratio < 3.0), "{product:?} {hand:?}");
    assert!(product.retransmitted < SENT_AGAIN_MAX, "{product:?}");
}
