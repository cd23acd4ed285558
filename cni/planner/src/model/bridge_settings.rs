//! The settings of a bridge: what an engine reports of them, whether that is what a network
//! specifies, and their text.
//!
//! A new setting is a field of [`BridgeSettings`]; then this file and `bridge_settings` of each
//! engine's driver do not compile until they have it.

use crate::model::policy_zone::PolicyZone;
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
    /// Where the connections of pods are tracked that policies restrict; `None` without policies,
    /// and if its ports alone can be guarded.
    pub policy_zone: Option<PolicyZone>,
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
    /// What an engine with all of these settings reports of a bridge without policies that needs no
    /// update.
    fn from(bridge: &Bridge) -> Self {
        let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds, mac_table_size, is_guarded } = bridge;
        Self {
            mtu: BridgeMtu::Set((*mtu).into()),
            mac_learning: *mac_learning,
            mac_age_seconds: Some((*mac_age_seconds).into()),
            mac_table: MacTable::Limited((*mac_table_size).into()),
            is_guarded: Some(*is_guarded),
            policy_zone: None,
        }
    }
}

impl BridgeSettings {
    /// Whether a bridge with these settings needs no update.
    pub fn match_spec(&self, bridge: &Bridge, policy_zone: Option<PolicyZone>) -> bool {
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
        let policy_zone = self.is_guarded.and(policy_zone);
        *self == Self { mtu, mac_table, is_guarded, policy_zone, ..desired }
    }
}

/// The settings of a bridge that its update changes, as text.
pub(crate) fn changed_settings(
    observed: &BridgeSettings,
    bridge: &Bridge,
    policy_zone: Option<PolicyZone>,
) -> Vec<String> {
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
        (observed.policy_zone != observed.is_guarded.and(policy_zone)).then(|| policies_text(policy_zone)),
    ];
    all.into_iter().flatten().collect()
}

/// The settings that a bridge should have, as text.
pub(crate) fn desired_settings(bridge: &Bridge, policy_zone: Option<PolicyZone>) -> impl fmt::Display {
    let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds, mac_table_size, is_guarded } = bridge;
    let guarded = if *is_guarded { format!(", {}", guard_text(true)) } else { String::new() };
    let policies = policy_zone.map_or_else(String::new, |_| format!(", {}", policies_text(policy_zone)));
    let learning = format!("MAC learning {mac_learning:?} of {mac_table_size} addresses for {mac_age_seconds} s");
    format!("MTU {mtu}, {learning}{guarded}{policies}")
}

const fn guard_text(is_guarded: bool) -> &'static str {
    if is_guarded { "anti-spoofing" } else { "no anti-spoofing" }
}

fn policies_text(zone: Option<PolicyZone>) -> String {
    zone.map_or_else(|| "no policies".to_owned(), |zone| format!("policies with connections in zone {zone}"))
}
