//! Settings of a bridge in the words of Open vSwitch.
//!
//! It ages MAC addresses after `other_config:mac-aging-time` seconds and learns none in the VLANs of `flood_vlans`; frames without a VLAN
//! are in VLAN 0 there. There is no single switch for all of them.

use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::MacLearning;
use usnet_ovsdb::{Bridge, Value};

/// The key of `other_config` with the age of MAC addresses in seconds. Without it Open vSwitch takes 300.
pub(super) const MAC_AGE_KEY: &str = "mac-aging-time";

/// All VLANs that `flood_vlans` can name.
const VLANS: std::ops::RangeInclusive<u16> = 0..=4095;

/// Whether a bridge learns; none when it does in some VLANs only, as no bridge of ours.
pub(super) fn mac_learning(bridge: &Bridge) -> Option<MacLearning> {
    match bridge.flood_vlans.len() {
        0 => Some(MacLearning::Enabled),
        count if count == VLANS.len() => Some(MacLearning::Disabled),
        _ => None,
    }
}

/// The VLANs in which a bridge does not learn.
pub(super) fn flood_vlans(learning: MacLearning) -> Value {
    match learning {
        MacLearning::Enabled => Value::empty(),
        MacLearning::Disabled => Value::set(VLANS.map(i64::from).collect::<BTreeSet<_>>()),
    }
}

/// The keys of `other_config` that are ours. The others belong to whoever set them.
pub(super) fn other_config(bridge: &usnet_crds::Bridge) -> BTreeMap<String, String> {
    BTreeMap::from([(MAC_AGE_KEY.to_owned(), i64::from(bridge.mac_age_seconds).to_string())])
}
