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
    /// Its MTU.
    pub mtu: BridgeMtu,
    /// Whether it learns where MAC addresses are.
    pub mac_learning: MacLearning,
    /// How long it remembers them, in seconds; none means the engine's default.
    pub mac_age_seconds: Option<i64>,
}

/// The MTU of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeMtu {
    /// The engine's bridges have none, only their ports do (VPP).
    OfPortsOnly,
    /// It is not set.
    Unset,
    /// The requested MTU, in bytes.
    Set(i64),
}

impl From<&Bridge> for BridgeSettings {
    /// What an engine with all of these settings reports of a bridge that needs no update.
    fn from(bridge: &Bridge) -> Self {
        let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds } = bridge;
        Self {
            mtu: BridgeMtu::Set((*mtu).into()),
            mac_learning: *mac_learning,
            mac_age_seconds: Some((*mac_age_seconds).into()),
        }
    }
}

impl BridgeSettings {
    /// Whether a bridge with these settings needs no update.
    pub(crate) fn match_spec(&self, bridge: &Bridge) -> bool {
        let desired = Self::from(bridge);
        let mtu = match self.mtu {
            BridgeMtu::OfPortsOnly => BridgeMtu::OfPortsOnly,
            BridgeMtu::Unset | BridgeMtu::Set(_) => desired.mtu,
        };
        *self == Self { mtu, ..desired }
    }
}

/// The settings that a bridge should have, as text.
pub(crate) fn desired_settings(bridge: &Bridge) -> impl fmt::Display {
    let Bridge { name: _, ownership: _, mtu, mac_learning, mac_age_seconds } = bridge;
    format!("MTU {mtu}, MAC learning {mac_learning:?} for {mac_age_seconds} s")
}
