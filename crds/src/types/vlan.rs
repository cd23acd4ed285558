//! The VLANs of a port, and how its frames are tagged. The modes are those of Open vSwitch
//! (`vlan_mode` in <https://www.openvswitch.org/support/dist-docs/ovs-vswitchd.conf.db.5.html>),
//! which follow IEEE 802.1Q.

use super::limits::VlanTag;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// How the frames of a port are tagged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "mode")]
pub enum Vlan {
    /// Frames are untagged at the pod, in this VLAN on the bridge.
    Access { tag: VlanTag },
    /// The pod sends and receives tagged frames of these VLANs.
    Trunk {
        /// The VLANs, at least one.
        trunks: BTreeSet<VlanTag>,
    },
    /// A trunk on which what the pod sends untagged is in the VLAN `tag`; the pod receives that
    /// VLAN tagged.
    NativeTagged {
        tag: VlanTag,
        /// The VLANs, at least one; the native one need not be among them.
        trunks: BTreeSet<VlanTag>,
    },
    /// A trunk on which what the pod sends untagged is in the VLAN `tag`; the pod receives that
    /// VLAN untagged.
    NativeUntagged {
        tag: VlanTag,
        /// The VLANs, at least one; the native one need not be among them.
        trunks: BTreeSet<VlanTag>,
    },
}

/// How the frames of a port are tagged.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum VlanMode {
    /// Frames are untagged at the pod, in one VLAN on the bridge.
    Access,
    /// Frames are tagged at the pod, in several VLANs.
    Trunk,
    /// A trunk with one VLAN for what the pod sends untagged.
    NativeTagged,
    /// The same, and the pod receives that VLAN untagged.
    NativeUntagged,
}

impl VlanMode {
    pub const ALL: [Self; 4] = [Self::Access, Self::Trunk, Self::NativeTagged, Self::NativeUntagged];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Access => "Access",
            Self::Trunk => "Trunk",
            Self::NativeTagged => "NativeTagged",
            Self::NativeUntagged => "NativeUntagged",
        }
    }
}

impl Vlan {
    /// The VLAN of what the pod sends untagged; none when that belongs to no VLAN.
    pub const fn tag(&self) -> Option<VlanTag> {
        match self {
            Self::Access { tag } | Self::NativeTagged { tag, .. } | Self::NativeUntagged { tag, .. } => Some(*tag),
            Self::Trunk { .. } => None,
        }
    }

    /// The VLANs whose tags the pod sends and receives; none with an access port.
    pub const fn trunks(&self) -> Option<&BTreeSet<VlanTag>> {
        match self {
            Self::Trunk { trunks } | Self::NativeTagged { trunks, .. } | Self::NativeUntagged { trunks, .. } => {
                Some(trunks)
            }
            Self::Access { .. } => None,
        }
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access { tag } => write!(formatter, "VLAN {tag}"),
            Self::Trunk { trunks } => write!(formatter, "a trunk of {}", Tags(trunks)),
            Self::NativeTagged { tag, trunks } => {
                write!(formatter, "a trunk of {} with native VLAN {tag}, tagged", Tags(trunks))
            }
            Self::NativeUntagged { tag, trunks } => {
                write!(formatter, "a trunk of {} with native VLAN {tag}", Tags(trunks))
            }
        }
    }
}

/// Prints few VLANs, and the number of many.
struct Tags<'a>(&'a BTreeSet<VlanTag>);

impl fmt::Display for Tags<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TAGS_MAX: usize = 10;
        let tags: Vec<String> = self.0.iter().take(TAGS_MAX).map(ToString::to_string).collect();
        write!(formatter, "VLANs {}", tags.join(", "))?;
        match self.0.len().saturating_sub(TAGS_MAX) {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_trunk_is_written_sorted_and_printed_short() {
        let vlan: Vlan = serde_json::from_value(json!({"mode": "NativeUntagged", "tag": 5, "trunks": [9, 7]})).unwrap();
        let written = serde_json::to_value(&vlan).unwrap();
        assert_eq!(written, json!({"mode": "NativeUntagged", "tag": 5, "trunks": [7, 9]}));
        assert_eq!(vlan.to_string(), "a trunk of VLANs 7, 9 with native VLAN 5");
        let many = Vlan::Trunk { trunks: (1..=12).map(|tag| VlanTag::try_from(tag).unwrap()).collect() };
        assert_eq!(many.to_string(), "a trunk of VLANs 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
    }

    #[test]
    fn each_mode_knows_its_vlans() {
        let tag = VlanTag::try_from(5).unwrap();
        let trunks = BTreeSet::from([tag]);
        assert_eq!((Vlan::Access { tag }.tag(), Vlan::Access { tag }.trunks()), (Some(tag), None));
        let trunk = Vlan::Trunk { trunks: trunks.clone() };
        assert_eq!((trunk.tag(), trunk.trunks()), (None, Some(&trunks)));
        let native = Vlan::NativeTagged { tag, trunks: trunks.clone() };
        assert_eq!((native.tag(), native.trunks()), (Some(tag), Some(&trunks)));
    }
}
