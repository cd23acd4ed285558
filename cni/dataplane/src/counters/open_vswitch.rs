//! The counters of Open vSwitch: the map `statistics` of each interface.
//!
//! A vhost-user interface has no `rx_packets` before a program was connected for the first time,
//! and never `rx_errors` and `tx_errors`. Its `tx_dropped` is the sum of the drops that have a
//! cause.

use super::{PortCounters, TIMEOUT, Traffic};
use crate::engine::EngineError;
use crate::engine::ovs::is_connected;
use crate::engine::ovs::refused_frames::{self, Refusal, RefusedFrames};
use crate::model::port::PortName;
use std::collections::BTreeMap;
use std::path::Path;
use usnet_ovsdb::statistics::{self, InterfaceStatistics};

pub(super) fn read(socket: &Path) -> Result<BTreeMap<PortName, PortCounters>, EngineError> {
    let interfaces = statistics::read(socket, TIMEOUT, is_wanted)?;
    let mut read: BTreeMap<PortName, PortCounters> =
        interfaces.iter().map(|interface| (PortName::observed(&interface.name), counters(interface))).collect();
    // Without it the other counters are as good.
    for (name, refused) in refused_frames::read(socket, TIMEOUT).unwrap_or_default() {
        if let Some(counters) = read.get_mut(&PortName::observed(&name)) {
            add_refused(counters, refused);
        }
    }
    Ok(read)
}

/// The switch does not count what flows drop among the drops of a port.
pub(super) fn add_refused(counters: &mut PortCounters, RefusedFrames { forged, sent, received }: RefusedFrames) {
    let causes = [(Refusal::Forged, forged), (Refusal::Sent, sent), (Refusal::Received, received)];
    let occurred = causes.into_iter().filter(|(_, count)| *count > 0);
    counters.drop_causes.extend(occurred.map(|(cause, count)| (cause.name().to_owned(), count)));
    for (traffic, count) in [(&mut counters.transmit, forged + sent), (&mut counters.receive, received)] {
        if count > 0 {
            traffic.dropped = Some(traffic.dropped.unwrap_or_default() + count);
        }
    }
}

/// The keys of `statistics` and `status` that are read.
fn is_wanted(key: &str) -> bool {
    let counter = key.strip_prefix("rx_").or_else(|| key.strip_prefix("tx_"));
    matches!(counter, Some("packets" | "bytes" | "dropped" | "errors"))
        || is_cause(key)
        || matches!(key, "status" | "driver_name")
}

/// Whether it counts drops by their cause.
fn is_cause(key: &str) -> bool {
    key.starts_with("ovs_") && key.ends_with("_drops")
}

/// What the switch sends, the pod receives.
pub(super) fn counters(interface: &InterfaceStatistics) -> PortCounters {
    let value = |key: String| interface.statistics.get(&key).copied();
    let traffic = |direction: &str| Traffic {
        packets: value(format!("{direction}_packets")),
        bytes: value(format!("{direction}_bytes")),
        dropped: value(format!("{direction}_dropped")),
        errors: value(format!("{direction}_errors")),
    };
    let causes = interface.statistics.iter().filter(|(key, count)| is_cause(key) && **count > 0);
    PortCounters {
        connected: is_connected(&interface.interface_type, &interface.status),
        receive: traffic("tx"),
        transmit: traffic("rx"),
        drop_causes: causes.map(|(key, count)| (key.clone(), *count)).collect(),
    }
}
