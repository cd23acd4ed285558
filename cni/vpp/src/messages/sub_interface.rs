//! Sub-interfaces: the frames of one VLAN of an interface (`interface.api`).
//!
//! Seen with VPP 26.06:
//! - An untagged sub-interface cannot be created (-1): the interface itself has these frames. In a
//!   bridge domain it also gets those of all VLANs that no sub-interface has. A
//!   [`SubIfFlags::DEFAULT`] one that is down takes those, and they are dropped.
//! - A sub-interface goes with its interface, and has the interface's kind and no MAC address. One
//!   with the number of another is refused (-56), one with its frames as well (-1).

use super::macros::requests;
use crate::wire::flags;

flags! {
    /// Which frames a sub-interface has.
    SubIfFlags {
        /// Those without a tag.
        NO_TAGS = 1,
        /// Those with this tag.
        ONE_TAG = 2,
        /// Those with these two tags.
        TWO_TAGS = 4,
        /// The first tag is one of 802.1ad, not 802.1Q.
        DOT1AD = 8,
        /// None with more tags than these.
        EXACT_MATCH = 16,
        /// Tagged frames that no other one has.
        DEFAULT = 32,
    }
}

requests! { SUB_INTERFACE_REQUESTS, None;
    /// Creates a sub-interface, which is down.
    CreateSubif("create_subif", "790ca755") {
        /// The interface.
        sw_if_index: u32,
        /// Its number in the name, which no other one of the interface has.
        sub_id: u32,
        sub_if_flags: SubIfFlags,
        outer_vlan_id: u16,
        inner_vlan_id: u16,
    } => CreateSubifReply("5383d31f") {
        sw_if_index: u32,
    }

    /// Deletes what [`CreateSubif`] created.
    DeleteSubif("delete_subif", "f9e6675e") {
        sw_if_index: u32,
    } => DeleteSubifReply("e8d4e804") {}
}
