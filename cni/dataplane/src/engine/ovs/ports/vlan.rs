//! The VLAN columns of a port.

use crate::model::observed::Tagging;
use crate::model::port::PortSettings;
use std::collections::BTreeSet;
use usnet_crds::{Vlan, VlanTag};
use usnet_ovsdb::{Port, Row, Value};

/// The values of the column `vlan_mode` of a port.
const ACCESS: &str = "access";
const TRUNK: &str = "trunk";
const NATIVE_TAGGED: &str = "native-tagged";
const NATIVE_UNTAGGED: &str = "native-untagged";

/// All VLAN columns of a port, so that no value that others set remains.
pub(in crate::engine::ovs) fn vlan(settings: &PortSettings) -> Row {
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
pub(in crate::engine::ovs) fn tagging(port: &Port) -> Tagging {
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
