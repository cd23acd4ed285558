//! The VLANs of a port of an engine.

use std::collections::BTreeSet;
use usnet_crds::{Vlan, VlanTag};

/// The tagging of a port, as far as usnet uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tagging {
    /// No VLAN was set.
    Untagged,
    /// In these VLANs.
    Vlan(Vlan),
    /// Frames without a tag alone.
    OnlyUntagged,
    /// Frames without a tag, and those of these VLANs.
    UntaggedAndTrunk(BTreeSet<VlanTag>),
    /// Anything else, set by others.
    Other,
}

impl From<Option<Vlan>> for Tagging {
    /// How a port with this setting tags.
    fn from(vlan: Option<Vlan>) -> Self {
        vlan.map_or(Self::Untagged, Self::Vlan)
    }
}
