//! Rate limits in Open vSwitch.
//!
//! What a pod sends enters the switch: `ingress_policing_rate` and `ingress_policing_burst` of its
//! interface, in kbit/s and kilobits. What it receives leaves the switch: a row of the table `QoS`
//! of type `egress-policer`, the only one that DPDK ports support, with `cir` in bytes per second
//! and `cbs` in bytes. (ovs-vswitchd.conf.db(5); `linux-htb` and the others are accepted for such a
//! port and have no effect.)
//!
//! For a kernel device it is the reverse: the type `linux-htb` with `max-rate` in bits per second
//! works, and policing does not, because the kernel passes frames to packet sockets, as used by the
//! userspace datapath, before it polices. The API rejects such limits.
//!
//! Rows of `QoS` are not deleted with their port. Those of usnet have the ownership tag of their
//! attachment and are deleted by it, whether a port still refers to them or not.

use super::ports::backend;
use super::snapshot::OvsSnapshot;
use super::tags;
use crate::model::owner::PortOwner;
use crate::model::port::{PortBackend, PortSettings};
use std::collections::BTreeMap;
use usnet_crds::{KilobitsPerSecond, RateLimit};
use usnet_ovsdb::{Interface, Port, Qos, Row, Transaction, Value};

const QOS: &str = "QoS";
const POLICER: &str = "egress-policer";
/// Bytes per second.
const RATE_KEY: &str = "cir";
/// Bytes.
const BURST_KEY: &str = "cbs";
/// Bytes of one kilobit.
const BYTES: u64 = 1000 / 8;
const QUEUE: &str = "linux-htb";
/// Bits per second.
const MAX_RATE_KEY: &str = "max-rate";

/// How egress of the switch is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shaper {
    /// `egress-policer`, of DPDK ports.
    Policer,
    /// `linux-htb`, for kernel devices.
    Queue,
}

impl Shaper {
    /// The shaper for ports with this backend.
    pub(super) const fn of(backend: &PortBackend) -> Self {
        match backend {
            PortBackend::Veth { .. } => Self::Queue,
            PortBackend::VhostUser { .. } | PortBackend::Memif { .. } => Self::Policer,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Policer => POLICER,
            Self::Queue => QUEUE,
        }
    }

    fn settings(self, limit: KilobitsPerSecond) -> BTreeMap<String, String> {
        match self {
            Self::Policer => policer(limit),
            Self::Queue => {
                let bits = u64::from(limit.get()).saturating_mul(1000).to_string();
                BTreeMap::from([(MAX_RATE_KEY.to_owned(), bits)])
            }
        }
    }

    /// The limit that a row of this kind sets.
    fn limit(self, limit: &Qos) -> Option<KilobitsPerSecond> {
        let (key, kilobit) = match self {
            Self::Policer => (RATE_KEY, BYTES),
            Self::Queue => (MAX_RATE_KEY, 1000),
        };
        let rate: u64 = limit.other_config.get(key)?.parse().ok()?;
        KilobitsPerSecond::try_from(i64::try_from(rate / kilobit).ok()?).ok()
    }
}

/// The columns of an interface about what enters the switch through it.
pub(super) fn with_policing(interface: Row, settings: &PortSettings) -> Row {
    let limit = settings.rate_limit.egress_kbps;
    interface
        .with("ingress_policing_rate", limit.map_or(0, i64::from))
        .with("ingress_policing_burst", limit.map_or(0, |limit| i64::from(limit.burst_kilobits())))
}

/// Replaces the QoS of a port, which must be updated in the same transaction after this. The
/// present row is not read: it is deleted by its tag. The switch compares settings, not rows, so
/// that the same limit in a new row is no change for it.
pub(super) fn replace(
    transaction: &mut Transaction,
    settings: &PortSettings,
    shaper: Shaper,
    owner: &PortOwner,
) -> Value {
    delete(transaction, owner);
    settings.rate_limit.ingress_kbps.map_or_else(Value::empty, |limit| {
        let row = Row::new()
            .with("type", shaper.name())
            .with("other_config", shaper.settings(limit))
            .with("external_ids", tags::port_value(owner));
        transaction.insert(QOS, row).into()
    })
}

/// Deletes the QoS of an attachment. Its port must be deleted or get another QoS in the same
/// transaction: the database allows no dangling references.
pub(super) fn delete(transaction: &mut Transaction, owner: &PortOwner) {
    let _ = transaction.delete(QOS, vec![tags::carries(tags::port_value(owner))]);
}

/// Whether an attachment has QoS rows left, which no port needs any more.
pub(super) fn has_qos(snapshot: &OvsSnapshot, owner: &PortOwner) -> bool {
    snapshot.limits.values().any(|limit| tags::is_owned_by(&limit.external_ids, owner))
}

/// The limits of a port; `None` if they are not ones that usnet sets.
pub(super) fn observe(snapshot: &OvsSnapshot, port: &Port, interface: &Interface) -> Option<RateLimit> {
    let ingress_kbps = match port.qos {
        None => None,
        Some(row) => {
            let shaper = Shaper::of(&backend(interface)?);
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

fn policer(limit: KilobitsPerSecond) -> BTreeMap<String, String> {
    let bytes = |kilobits: u32| u64::from(kilobits).saturating_mul(BYTES).to_string();
    BTreeMap::from([(RATE_KEY.to_owned(), bytes(limit.get())), (BURST_KEY.to_owned(), bytes(limit.burst_kilobits()))])
}
