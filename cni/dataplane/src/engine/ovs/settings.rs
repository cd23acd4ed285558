//! Settings of bridges and ports in the schema of Open vSwitch.
//!
//! A bridge ages MAC addresses after `other_config:mac-aging-time` seconds and does not learn in
//! the VLANs of `flood_vlans`; untagged frames are in VLAN 0 there. There is no single setting for
//! all VLANs.

use crate::model::observed::Tagging;
use crate::model::port::PortSettings;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{MacLearning, Vlan, VlanTag};
use usnet_ovsdb::{Bridge, Port, Row, Value};

/// The key of `other_config` with the age of MAC addresses in seconds. The default of Open vSwitch
/// is 300.
pub(super) const MAC_AGE_KEY: &str = "mac-aging-time";

/// The values of the column `vlan_mode` of a port.
const ACCESS: &str = "access";
const TRUNK: &str = "trunk";
const NATIVE_TAGGED: &str = "native-tagged";
const NATIVE_UNTAGGED: &str = "native-untagged";

/// All VLAN columns of a port, so that no value that others set remains.
pub(super) fn vlan(settings: &PortSettings) -> Row {
    let vlan = settings.vlan.as_ref();
    let mode = vlan.map(|vlan| match vlan {
        Vlan::Access { .. } => ACCESS,
        Vlan::Trunk { .. } => TRUNK,
        Vlan::NativeTagged { .. } => NATIVE_TAGGED,
        Vlan::NativeUntagged { .. } => NATIVE_UNTAGGED,
    });
    let trunks = vlan.and_then(Vlan::trunks).into_iter().flatten().copied();
    Row::new()
        .with("tag", vlan.and_then(Vlan::tag).map(i64::from))
        .with("vlan_mode", mode)
        .with("trunks", Value::set(trunks.map(i64::from)))
}

/// The tagging of a port. Without a mode, a port with a tag is an access port; one without a tag
/// trunks all VLANs, which with empty `trunks` is what usnet sets.
pub(super) fn tagging(port: &Port) -> Tagging {
    let tag = port.tag.map(|tag| VlanTag::try_from(i64::from(tag)).ok());
    let trunks: Option<BTreeSet<VlanTag>> =
        port.trunks.iter().map(|tag| VlanTag::try_from(i64::from(*tag)).ok()).collect();
    match (port.vlan_mode.as_deref(), tag, trunks) {
        (None, None, Some(trunks)) if trunks.is_empty() => Tagging::Untagged,
        (None | Some(ACCESS), Some(Some(tag)), Some(trunks)) if trunks.is_empty() => {
            Tagging::Vlan(Vlan::Access { tag })
        }
        (Some(TRUNK), None, Some(trunks)) if !trunks.is_empty() => Tagging::Vlan(Vlan::Trunk { trunks }),
        (Some(NATIVE_TAGGED), Some(Some(tag)), Some(trunks)) if !trunks.is_empty() => {
            Tagging::Vlan(Vlan::NativeTagged { tag, trunks })
        }
        (Some(NATIVE_UNTAGGED), Some(Some(tag)), Some(trunks)) if !trunks.is_empty() => {
            Tagging::Vlan(Vlan::NativeUntagged { tag, trunks })
        }
        _ => Tagging::Other,
    }
}

/// All VLANs that `flood_vlans` can name.
const VLANS: std::ops::RangeInclusive<u16> = 0..=4095;

/// Whether a bridge learns; `None` if it does so in some VLANs only, as no bridge of usnet does.
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

/// The keys of `other_config` that usnet owns. Others are kept.
pub(super) fn other_config(bridge: &usnet_crds::Bridge) -> BTreeMap<String, String> {
    BTreeMap::from([(MAC_AGE_KEY.to_owned(), i64::from(bridge.mac_age_seconds).to_string())])
}
