//! The VLAN of a port: `vlanId`, and the fork's `trunks` and `vlanMode`, which correspond to Open
//! vSwitch's `tag`, `trunks` and `vlan_mode`.

use super::error::InvalidLegacy;
use super::keys::Keys;
use crate::{Vlan, VlanTag};
use serde_json::Value;
use std::collections::BTreeSet;

const TAG: &str = "vlanId";
const TRUNKS: &str = "trunks";
/// Most ranges of consecutive VLANs of one trunk: every node stores them, and any tenant may write
/// them.
const RANGES_MAX: usize = 32;
const MODE: &str = "vlanMode";

/// Without a mode, as in Open vSwitch: a tag alone is an access port, trunks alone are a trunk, and
/// both are a native-tagged trunk.
pub(super) fn vlan(bridge: &Keys<'_>) -> Result<Option<Vlan>, InvalidLegacy> {
    let tag: Option<VlanTag> = bridge.number(TAG)?;
    let trunks = trunks(bridge)?;
    let needs_tag = || tag.ok_or_else(|| bridge.missing(TAG, "this vlanMode needs the VLAN of untagged frames"));
    let needs_trunks = || match trunks.is_empty() {
        true => Err(bridge.missing(TRUNKS, "list the VLANs of the trunk")),
        false => Ok(trunks.clone()),
    };
    let only =
        |unused: bool, key: &str, advice| if unused { Ok(()) } else { Err(bridge.unsupported(key, "a value", advice)) };
    match bridge.text(MODE)? {
        None => Ok(match (tag, trunks.is_empty()) {
            (None, true) => None,
            (Some(tag), true) => Some(Vlan::Access { tag }),
            (None, false) => Some(Vlan::Trunk { trunks }),
            (Some(tag), false) => Some(Vlan::NativeTagged { tag, trunks }),
        }),
        Some("access") => {
            only(trunks.is_empty(), TRUNKS, "a port with the vlanMode access has one VLAN: leave out trunks")?;
            Ok(Some(Vlan::Access { tag: needs_tag()? }))
        }
        Some("trunk") => {
            only(tag.is_none(), TAG, "a port with the vlanMode trunk has no VLAN of its own: leave out vlanId")?;
            Ok(Some(Vlan::Trunk { trunks: needs_trunks()? }))
        }
        Some("native-tagged") => Ok(Some(Vlan::NativeTagged { tag: needs_tag()?, trunks: needs_trunks()? })),
        Some("native-untagged") => Ok(Some(Vlan::NativeUntagged { tag: needs_tag()?, trunks: needs_trunks()? })),
        Some(other) => Err(bridge.unsupported(MODE, other, "use access, trunk, native-tagged or native-untagged")),
    }
}

fn trunks(bridge: &Keys<'_>) -> Result<BTreeSet<VlanTag>, InvalidLegacy> {
    let tag = |item: &Value| {
        let number = item.as_i64().ok_or_else(|| bridge.wrong(TRUNKS, "a list of whole numbers"))?;
        VlanTag::try_from(number).map_err(|problem| bridge.out_of_range(TRUNKS, &problem))
    };
    let tags: BTreeSet<VlanTag> = bridge.list(TRUNKS)?.iter().map(tag).collect::<Result<_, _>>()?;
    let ranges = ranges(&tags);
    if ranges > RANGES_MAX {
        let problem = format!("it has {ranges} ranges of VLANs, and {RANGES_MAX} is the limit");
        return Err(bridge.out_of_range(TRUNKS, &problem));
    }
    Ok(tags)
}

/// The number of ranges of consecutive VLANs.
fn ranges(tags: &BTreeSet<VlanTag>) -> usize {
    let numbers = tags.iter().map(|tag| tag.get());
    let mut before = None;
    numbers.filter(|number| before.replace(*number) != number.checked_sub(1)).count()
}
