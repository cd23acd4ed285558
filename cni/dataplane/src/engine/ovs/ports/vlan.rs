//! The columns of a port about which of its frames go where.

use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::iter;
use usnet_crds::{Vlan, VlanTag};
use usnet_ovsdb::{Port, Row, Value};

/// The values of the column `vlan_mode` of a port.
const ACCESS: &str = "access";
const TRUNK: &str = "trunk";
const NATIVE_TAGGED: &str = "native-tagged";
const NATIVE_UNTAGGED: &str = "native-untagged";

/// Frames without a tag, where the columns need a number for them.
const UNTAGGED: u16 = 0;

/// All VLAN columns of a port, so that no value that others set remains.
pub(in crate::engine::ovs) fn tagging_columns(tagging: &Tagging) -> Row {
    match tagging {
        Tagging::Untagged | Tagging::Other => vlan_columns(None),
        Tagging::Vlan(vlan) => vlan_columns(Some(vlan)),
        Tagging::OnlyUntagged => {
            unhindered().with("tag", i64::from(UNTAGGED)).with("vlan_mode", ACCESS).with("trunks", Value::empty())
        }
        Tagging::UntaggedAndTrunk(trunks) => {
            let all = iter::once(i64::from(UNTAGGED)).chain(trunks.iter().copied().map(i64::from));
            unhindered().with("tag", Value::empty()).with("vlan_mode", TRUNK).with("trunks", Value::set(all))
        }
    }
}

/// Frames of a port go to all others, and need no partner of LACP. Tunnels are protected from each
/// other: they set that afterwards.
fn unhindered() -> Row {
    Row::new().with("protected", false).with("lacp", Value::empty())
}

fn vlan_columns(vlan: Option<&Vlan>) -> Row {
    let mode = vlan.map(|vlan| match vlan {
        Vlan::Access { .. } => ACCESS,
        Vlan::Trunk { .. } => TRUNK,
        Vlan::NativeTagged { .. } => NATIVE_TAGGED,
        Vlan::NativeUntagged { .. } => NATIVE_UNTAGGED,
    });
    let trunks = vlan.and_then(Vlan::trunks).into_iter().flatten().copied();
    unhindered()
        .with("tag", vlan.and_then(Vlan::tag).map(i64::from))
        .with("vlan_mode", mode)
        .with("trunks", Value::set(trunks.map(i64::from)))
}

/// The tagging of a port. Without a mode, a port with a tag is an access port; one without a tag
/// trunks all VLANs, which with empty `trunks` is what usnet sets.
pub(in crate::engine::ovs) fn tagging(port: &Port) -> Tagging {
    let tag = port.tag.map(|tag| VlanTag::try_from(i64::from(tag)).ok());
    let has_untagged = port.trunks.contains(&UNTAGGED);
    let tags = port.trunks.iter().filter(|tag| **tag != UNTAGGED);
    let trunks: Option<BTreeSet<VlanTag>> = tags.map(|tag| VlanTag::try_from(i64::from(*tag)).ok()).collect();
    if has_untagged {
        return match (port.vlan_mode.as_deref(), tag, trunks) {
            (Some(TRUNK), None, Some(trunks)) => Tagging::UntaggedAndTrunk(trunks),
            _ => Tagging::Other,
        };
    }
    match (port.vlan_mode.as_deref(), tag, trunks) {
        (None, None, Some(trunks)) if trunks.is_empty() => Tagging::Untagged,
        (None | Some(ACCESS), Some(Some(tag)), Some(trunks)) if trunks.is_empty() => {
            Tagging::Vlan(Vlan::Access { tag })
        }
        (Some(ACCESS), Some(None), Some(trunks)) if trunks.is_empty() && port.tag == Some(UNTAGGED) => {
            Tagging::OnlyUntagged
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
