//! Setting and reading the rate limits of a port.

use super::shaper::Shaper;
use crate::engine::ovs::ports;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags;
use crate::model::owner::PortOwner;
use usnet_crds::{KilobitsPerSecond, RateLimit};
use usnet_ovsdb::{Interface, Port, Qos, Row, Transaction, Value};

const QOS: &str = "QoS";

/// The columns of an interface about what enters the switch through it.
pub(in crate::engine::ovs) fn with_policing(interface: Row, limits: RateLimit) -> Row {
    let limit = limits.egress_kbps;
    interface
        .with("ingress_policing_rate", limit.map_or(0, i64::from))
        .with("ingress_policing_burst", limit.map_or(0, |limit| i64::from(limit.burst_kilobits())))
}

/// Replaces the QoS of a port, which must be updated in the same transaction after this. The
/// present row is not read: it is deleted by its tag. The switch compares settings, not rows, so
/// that the same limit in a new row is no change for it.
pub(in crate::engine::ovs) fn replace(
    transaction: &mut Transaction,
    limits: RateLimit,
    shaper: Shaper,
    owner: &PortOwner,
) -> Value {
    delete(transaction, owner);
    limits.ingress_kbps.map_or_else(Value::empty, |limit| {
        let row = Row::new()
            .with("type", shaper.name())
            .with("other_config", shaper.settings(limit))
            .with("external_ids", tags::port_value(owner));
        transaction.insert(QOS, row).into()
    })
}

/// Deletes the QoS of an attachment. Its port must be deleted or get another QoS in the same
/// transaction: the database allows no dangling references.
pub(in crate::engine::ovs) fn delete(transaction: &mut Transaction, owner: &PortOwner) {
    let _ = transaction.delete(QOS, vec![tags::carries(tags::port_value(owner))]);
}

/// Whether an attachment has QoS rows left, which no port needs any more.
pub(in crate::engine::ovs) fn has_qos(snapshot: &OvsSnapshot, owner: &PortOwner) -> bool {
    snapshot.limits.values().any(|limit| tags::is_owned_by(&limit.external_ids, owner))
}

/// The limits of a port; `None` if they are not ones that usnet sets.
pub(in crate::engine::ovs) fn observe(snapshot: &OvsSnapshot, port: &Port, interface: &Interface) -> Option<RateLimit> {
    let ingress_kbps = match port.qos {
        None => None,
        Some(row) => {
            let shaper = ports::shaper(interface)?;
            Some(received(snapshot.limits.get(&row)?, shaper, port)?)
        }
    };
    Some(RateLimit { ingress_kbps, egress_kbps: sent(interface)? })
}

/// The limit of what the pod sends. The outer option is `None` if it is not one that usnet sets.
fn sent(interface: &Interface) -> Option<Option<KilobitsPerSecond>> {
    if interface.ingress_policing_rate == 0 {
        return Some(None);
    }
    let limit = KilobitsPerSecond::try_from(interface.ingress_policing_rate).ok()?;
    (interface.ingress_policing_burst == i64::from(limit.burst_kilobits())).then_some(Some(limit))
}

/// The limit of what the pod receives, if the row is of this port and as written by usnet.
fn received(limit: &Qos, shaper: Shaper, port: &Port) -> Option<KilobitsPerSecond> {
    let is_its = tags::port(&port.external_ids).is_some_and(|owner| tags::is_owned_by(&limit.external_ids, &owner));
    let rate = shaper.limit(limit)?;
    (is_its && limit.qos_type == shaper.name() && limit.other_config == shaper.settings(rate)).then_some(rate)
}
