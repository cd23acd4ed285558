//! Recorded counters, and what they are for a pod.

use super::open_vswitch;
use super::vpp::{self, InterfaceCounters};
use super::{PortCounters, Traffic};
use crate::engine::ovs::refused_frames::RefusedFrames;
use std::collections::BTreeMap;
use usnet_ovsdb::statistics::InterfaceStatistics;
use usnet_vpp::stats::Combined;

/// As Open vSwitch 3.1 showed it, without what is not read.
fn open_vswitch(interface_type: &str, status: &[(&str, &str)], statistics: &[(&str, u64)]) -> PortCounters {
    open_vswitch::counters(&InterfaceStatistics {
        name: "vhu0123456789a".to_owned(),
        interface_type: interface_type.to_owned(),
        status: status.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        statistics: statistics.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect(),
    })
}

#[test]
fn frames_that_a_pod_may_not_send_are_among_those_that_were_dropped() {
    for (dropped, expected) in [(Some(3), 10), (None, 7)] {
        let mut counters =
            PortCounters { transmit: Traffic { dropped, ..Traffic::default() }, ..PortCounters::default() };
        let refused = RefusedFrames { forged: 5, sent: 2, received: 4 };
        open_vswitch::add_refused(&mut counters, refused);
        assert_eq!((counters.transmit.dropped, counters.receive.dropped), (Some(expected), Some(4)));
        let causes = [("anti_spoofing", 5), ("policy_egress", 2), ("policy_ingress", 4)];
        assert_eq!(counters.drop_causes, causes.map(|(cause, count)| (cause.to_owned(), count)).into());
        let before = counters.clone();
        open_vswitch::add_refused(&mut counters, RefusedFrames::default());
        assert_eq!(counters, before, "a cause that never occurred is not there");
    }
}

#[test]
fn what_open_vswitch_sends_to_a_program_the_pod_receives() {
    let recorded = [
        ("ovs_rx_qos_drops", 0),
        ("ovs_tx_failure_drops", 779_392),
        ("ovs_tx_mtu_exceeded_drops", 3),
        ("rx_bytes", 640),
        ("rx_dropped", 0),
        ("rx_packets", 10),
        ("tx_bytes", 115_286_016),
        ("tx_dropped", 779_395),
        ("tx_packets", 1_801_344),
    ];
    let counters = open_vswitch("dpdkvhostuserclient", &[("status", "connected")], &recorded);
    let expected = PortCounters {
        connected: true,
        receive: Traffic { packets: Some(1_801_344), bytes: Some(115_286_016), dropped: Some(779_395), errors: None },
        transmit: Traffic { packets: Some(10), bytes: Some(640), dropped: Some(0), errors: None },
        drop_causes: BTreeMap::from([
            ("ovs_tx_failure_drops".to_owned(), 779_392),
            ("ovs_tx_mtu_exceeded_drops".to_owned(), 3),
        ]),
    };
    assert_eq!(counters, expected);
}

#[test]
fn what_open_vswitch_does_not_count_is_absent() {
    let never_connected = [("ovs_tx_failure_drops", 0), ("ovs_rx_qos_drops", 0)];
    let counters = open_vswitch("dpdkvhostuserclient", &[("status", "disconnected")], &never_connected);
    assert_eq!(counters, PortCounters::default());
    let device = [("rx_packets", 4), ("tx_packets", 5), ("rx_errors", 1), ("tx_errors", 2)];
    let counters = open_vswitch("system", &[("driver_name", "veth")], &device);
    assert!(counters.connected);
    assert_eq!((counters.receive.packets, counters.receive.errors), (Some(5), Some(2)));
    assert_eq!((counters.transmit.packets, counters.transmit.errors), (Some(4), Some(1)));
}

/// As VPP 26.06 showed it.
fn recorded(ring_errors: &[(&str, u64)]) -> InterfaceCounters {
    InterfaceCounters {
        is_connected: true,
        is_vhost_user: false,
        rx: Some(Combined { packets: 10, bytes: 640 }),
        tx: Some(Combined { packets: 3013, bytes: 192_832 }),
        drops: Some(0),
        rx_no_buf: Some(0),
        rx_miss: Some(0),
        rx_error: Some(0),
        tx_error: Some(1),
        ring_errors: ring_errors.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    }
}

#[test]
fn a_pod_with_a_full_memif_ring_received_what_vpp_sent_without_what_it_dropped() {
    let counters = vpp::counters(&recorded(&[("no_free_slots", 1989)]));
    assert_eq!((counters.receive.packets, counters.receive.dropped), (Some(1024), Some(1989)));
    assert_eq!((counters.receive.errors, counters.connected), (Some(1), true));
    assert_eq!((counters.transmit.packets, counters.transmit.bytes), (Some(10), Some(640)));
    assert_eq!(counters.transmit.dropped, Some(0));
    assert_eq!(counters.drop_causes, BTreeMap::from([("no_free_slots".to_owned(), 1989)]));
}

#[test]
fn the_ring_of_a_vhost_user_port_is_not_counted_in_both_directions() {
    let full = recorded(&[("tx packet drops (no available descriptors)", 100), ("mmap failure", 0)]);
    let counters = vpp::counters(&InterfaceCounters { is_vhost_user: true, drops: Some(107), ..full });
    assert_eq!((counters.receive.packets, counters.receive.dropped), (Some(2913), Some(100)));
    assert_eq!(counters.transmit.dropped, Some(7), "what its pod sent and VPP dropped");
    assert_eq!(counters.drop_causes.len(), 1);
}

#[test]
fn what_vpp_does_not_count_is_absent_and_lost_frames_are_drops() {
    assert_eq!(vpp::counters(&InterfaceCounters::default()), PortCounters::default());
    let interface = InterfaceCounters { drops: Some(1), rx_no_buf: Some(2), rx_miss: Some(4), ..recorded(&[]) };
    let counters = vpp::counters(&interface);
    assert_eq!(counters.transmit.dropped, Some(7));
    let lost = [("rx-miss".to_owned(), 4), ("rx-no-buf".to_owned(), 2)];
    assert_eq!(counters.drop_causes, BTreeMap::from(lost));
}
