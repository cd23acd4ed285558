//! Sub-interfaces: the frames of one VLAN of an interface (`interface.api`).
//!
//! Seen with VPP 26.06:
//! - An untagged sub-interface cannot be created (-1): the interface itself receives these frames.
//!   In a bridge domain it also receives those of all VLANs that no sub-interface has. A
//!   [`SubIfFlags::DEFAULT`] sub-interface that is down takes those, and they are dropped.
//! - A sub-interface is deleted with its interface, and has the interface's device type and no MAC
//!   address. One with the number of another is refused (-56), and so is one with its frames (-1).

use super::macros::requests;
use crate::wire::flags;

flags! {
    /// The frames of a sub-interface.
    SubIfFlags {
        /// Frames without a tag.
        NO_TAGS = 1,
        /// Frames with this tag.
        ONE_TAG = 2,
        /// Frames with these two tags.
        TWO_TAGS = 4,
        /// The first tag is one of 802.1ad, not 802.1Q.
        DOT1AD = 8,
        /// Frames with more tags are excluded.
        EXACT_MATCH = 16,
        /// Tagged frames that no other sub-interface has.
        DEFAULT = 32,
    }
}

requests! { SUB_INTERFACE_REQUESTS, None;
    /// Creates a sub-interface, which is down.
    CreateSubif("create_subif", "790ca755") {
        /// The parent interface.
        sw_if_index: u32,
        /// The number in the name of the sub-interface, which is unique on its parent.
        sub_id: u32,
        sub_if_flags: SubIfFlags,
        outer_vlan_id: u16,
        inner_vlan_id: u16,
    } => CreateSubifReply("5383d31f") {
        sw_if_index: u32,
    }

    /// Deletes a sub-interface of [`CreateSubif`].
    DeleteSubif("delete_subif", "f9e6675e") {
        sw_if_index: u32,
    } => DeleteSubifReply("e8d4e804") {}
}
