//! The two ways in which the switch limits what it sends through a port.

use std::collections::BTreeMap;
use usnet_crds::KilobitsPerSecond;
use usnet_ovsdb::Qos;

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
pub(in crate::engine::ovs) enum Shaper {
    /// `egress-policer`, of DPDK ports.
    Policer,
    /// `linux-htb`, for kernel devices.
    Queue,
}

impl Shaper {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Policer => POLICER,
            Self::Queue => QUEUE,
        }
    }

    pub(super) fn settings(self, limit: KilobitsPerSecond) -> BTreeMap<String, String> {
        match self {
            Self::Policer => policer(limit),
            Self::Queue => {
                let bits = u64::from(limit.get()).saturating_mul(1000).to_string();
                BTreeMap::from([(MAX_RATE_KEY.to_owned(), bits)])
            }
        }
    }

    /// The limit that a row of this kind sets.
    pub(super) fn limit(self, limit: &Qos) -> Option<KilobitsPerSecond> {
        let (key, kilobit) = match self {
            Self::Policer => (RATE_KEY, BYTES),
            Self::Queue => (MAX_RATE_KEY, 1000),
        };
        let rate: u64 = limit.other_config.get(key)?.parse().ok()?;
        KilobitsPerSecond::try_from(i64::try_from(rate / kilobit).ok()?).ok()
    }
}

fn policer(limit: KilobitsPerSecond) -> BTreeMap<String, String> {
    let bytes = |kilobits: u32| u64::from(kilobits).saturating_mul(BYTES).to_string();
    BTreeMap::from([(RATE_KEY.to_owned(), bytes(limit.get())), (BURST_KEY.to_owned(), bytes(limit.burst_kilobits()))])
}
