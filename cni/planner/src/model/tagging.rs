//! The VLANs of a port of an engine.

use std::collections::BTreeSet;
use usnet_crds::{Vlan, VlanTag};

/// The tagging of a port, as far as usnet uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tagging {
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

impl Tagging {
    /// How the port tags that leads from a network, or from the address of the node, to an uplink.
    pub fn of_uplink_vlan(vlan: Option<VlanTag>) -> Self {
        vlan.map_or(Self::OnlyUntagged, |tag| Self::Vlan(Vlan::Access { tag }))
    }

    /// How the port of a NIC tags that lets these VLANs through: `None` without any, because a
    /// trunk without VLANs is one of all VLANs.
    pub fn of_nic(vlans: impl IntoIterator<Item = Option<VlanTag>>) -> Option<Self> {
        let (mut is_untagged, mut trunks) = (false, BTreeSet::new());
        for vlan in vlans {
            match vlan {
                Some(tag) => drop(trunks.insert(tag)),
                None => is_untagged = true,
            }
        }
        match (is_untagged, trunks.is_empty()) {
            (true, _) => Some(Self::UntaggedAndTrunk(trunks)),
            (false, false) => Some(Self::Vlan(Vlan::Trunk { trunks })),
            (false, true) => None,
        }
    }

    /// The VLANs that the port of a NIC lets through, as text.
    pub(crate) fn of_nic_text(&self) -> String {
        let list = |trunks: &BTreeSet<VlanTag>| trunks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::UntaggedAndTrunk(trunks) if trunks.is_empty() => "no VLAN".to_owned(),
            Self::UntaggedAndTrunk(trunks) => format!("no VLAN and VLANs {}", list(trunks)),
            Self::Vlan(Vlan::Trunk { trunks }) => format!("VLANs {}", list(trunks)),
            other => format!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_nic_is_never_a_trunk_of_all_vlans() {
        let tag = |number| VlanTag::try_from(number).unwrap();
        assert_eq!(Tagging::of_nic([]), None);
        let taggings = [
            (vec![Some(tag(7))], Tagging::Vlan(Vlan::Trunk { trunks: [tag(7)].into() }), "VLANs 7"),
            (vec![None], Tagging::UntaggedAndTrunk([].into()), "no VLAN"),
            (vec![Some(tag(8)), None], Tagging::UntaggedAndTrunk([tag(8)].into()), "no VLAN and VLANs 8"),
        ];
        for (vlans, tagging, text) in taggings {
            let found = Tagging::of_nic(vlans).unwrap();
            assert_eq!(found.of_nic_text(), text);
            assert_eq!(found, tagging);
        }
    }
}
