//! The settings of a port in the schema of Open vSwitch: how they are read, and the columns that
//! set them.

use super::ports;
use super::qos;
use super::queues;
use super::snapshot::OvsSnapshot;
use super::tags;
use crate::model::port::{DesiredSettings, ObservedSettings};
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use usnet_ovsdb::{Interface, Port, Row};

/// The settings of a port, given its interface.
pub(super) fn observe(snapshot: &OvsSnapshot, port: &Port, interface: Option<&Interface>) -> ObservedSettings {
    ObservedSettings {
        mtu: interface.and_then(|interface| interface.mtu_request),
        tagging: tagging(port, interface),
        rate_limit: interface.and_then(|interface| qos::observe(snapshot, port, interface)),
        routed: BTreeSet::new(),
        receive_queues: interface.and_then(ports::receive_queues),
        queues: interface.map(queues::observe).unwrap_or_default(),
        guard: tags::guard(&port.external_ids),
        is_enabled: true,
    }
}

/// The settings of a bond, given its interfaces. An MTU that they do not share is none.
pub(super) fn observe_bond(snapshot: &OvsSnapshot, port: &Port, interfaces: &[&Interface]) -> ObservedSettings {
    let first = interfaces.first().copied();
    let is_shared = interfaces.iter().all(|interface| Some(interface.mtu_request) == first.map(|it| it.mtu_request));
    let observed = observe(snapshot, port, first);
    ObservedSettings {
        mtu: observed.mtu.filter(|_| is_shared),
        tagging: if port.is_protected { Tagging::Other } else { ports::tagging(port) },
        receive_queues: None,
        ..observed
    }
}

/// How the frames of a port are tagged. A port that exchanges frames with some others only, or with
/// a partner of LACP only, is not as usnet creates any but tunnels.
pub(super) fn tagging(port: &Port, interface: Option<&Interface>) -> Tagging {
    let is_tunnel = interface.is_some_and(ports::is_tunnel);
    let is_hindered = (port.is_protected && !is_tunnel) || port.lacp.is_some();
    if is_hindered { Tagging::Other } else { ports::tagging(port) }
}

/// The columns of a port, without its QoS, and without its guard, which is one of its tags.
pub(super) fn port_columns(settings: &DesiredSettings) -> Row {
    let DesiredSettings { tagging, mtu: _, rate_limit: _, routed: _, receive_queues: _, queues: _, guard: _ } =
        settings;
    tagging.as_ref().map_or_else(Row::new, ports::tagging_columns)
}

/// The columns of its interface, added to those of its backend, without the keys that `queues`
/// adds to some.
pub(super) fn interface_columns(backend: Row, settings: &DesiredSettings) -> Row {
    let DesiredSettings { mtu, rate_limit, tagging: _, routed: _, receive_queues: _, queues: _, guard: _ } = settings;
    let row = match mtu.requested() {
        Some(mtu) => backend.with("mtu_request", i64::from(mtu)),
        None => backend,
    };
    match rate_limit {
        Some(limit) => qos::with_policing(row, *limit),
        None => row,
    }
}
