//! The settings of a bridge: what an engine reports of them, whether that is what a network
//! specifies, and their text.
//!
//! A new setting is a field of [`BridgeSettings`]; then this file and `bridge_settings` of each
//! engine's driver do not compile until they have it.

use std::fmt;
use usnet_crds::{Bridge, MacLearning};

/// The settings of a bridge that can change in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeSettings {
    pub mtu: BridgeMtu,
    /// Whether it learns where MAC addresses are.
    pub mac_learning: MacLearning,
    /// How long it remembers them, in seconds; none means the engine's default.
    pub mac_age_seconds: Option<i64>,
    /// How many it remembers at most.
    pub mac_table: MacTable,
    /// Whether it forwards nothing but what its ports are allowed to send; `None` if the engine's
    /// bridges forward everything, and only their ports can be guarded (VPP).
    pub is_guarded: Option<bool>,
}

/// How many MAC addresses a bridge remembers at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacTable {
    /// The engine does not say so; it is set with each change.
    Unreadable,
    /// The limit is not set, or not to a number.
    Unset,
    Limited(i64),
}

/// The MTU of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeMtu {
    /// The engine's bridges have none, only their ports do (VPP).
    OfPortsOnly,
    Unset,
    /// The requested MTU, in bytes.
    Set(i64),
}

impl From<&Bridge> for BridgeSettings {
    /// What an engine with all of these settings reports of a bridge that needs no update.
    fn from(bridge: &Bridge) -> Self {
        let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds, mac_table_size, is_guarded } = bridge;
        Self {
            mtu: BridgeMtu::Set((*mtu).into()),
            mac_learning: *mac_learning,
            mac_age_seconds: Some((*mac_age_seconds).into()),
            mac_table: MacTable::Limited((*mac_table_size).into()),
            is_guarded: Some(*is_guarded),
        }
    }
}

impl BridgeSettings {
    /// Whether a bridge with these settings needs no update.
    pub fn match_spec(&self, bridge: &Bridge) -> bool {
        let desired = Self::from(bridge);
        let mtu = match self.mtu {
            BridgeMtu::OfPortsOnly => BridgeMtu::OfPortsOnly,
            BridgeMtu::Unset | BridgeMtu::Set(_) => desired.mtu,
        };
        let mac_table = match self.mac_table {
            MacTable::Unreadable => MacTable::Unreadable,
            MacTable::Unset | MacTable::Limited(_) => desired.mac_table,
        };
        let is_guarded = self.is_guarded.and(desired.is_guarded);
        *self == Self { mtu, mac_table, is_guarded, ..desired }
    }
}

/// The settings of a bridge that its update changes, as text.
pub(crate) fn changed_settings(observed: &BridgeSettings, bridge: &Bridge) -> Vec<String> {
    let desired = BridgeSettings::from(bridge);
    let mtu = observed.mtu != BridgeMtu::OfPortsOnly && observed.mtu != desired.mtu;
    let mac_table = observed.mac_table != MacTable::Unreadable && observed.mac_table != desired.mac_table;
    let all = [
        mtu.then(|| format!("MTU {}", bridge.mtu)),
        (observed.mac_learning != desired.mac_learning).then(|| format!("MAC learning {:?}", bridge.mac_learning)),
        mac_table.then(|| format!("a MAC table of {} addresses", bridge.mac_table_size)),
        (observed.mac_age_seconds != desired.mac_age_seconds).then(|| format!("MAC age {} s", bridge.mac_age_seconds)),
        observed
            .is_guarded
            .filter(|found| *found != bridge.is_guarded)
            .map(|_| guard_text(bridge.is_guarded).to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// The settings that a bridge should have, as text.
pub(crate) fn desired_settings(bridge: &Bridge) -> impl fmt::Display {
    let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds, mac_table_size, is_guarded } = bridge;
    let guarded = if *is_guarded { format!(", {}", guard_text(true)) } else { String::new() };
    format!("MTU {mtu}, MAC learning {mac_learning:?} of {mac_table_size} addresses for {mac_age_seconds} s{guarded}")
}

const fn guard_text(is_guarded: bool) -> &'static str {
    if is_guarded { "anti-spoofing" } else { "no anti-spoofing" }
}
