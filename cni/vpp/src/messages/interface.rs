//! Interfaces of any kind (`interface.api`, and their VLAN tags from `l2.api`).
//!
//! Indexes and state (seen with VPP 26.06, as everything below):
//! - A `sw_if_index` is reused at once, the last deleted one first: store none, and find interfaces
//!   by their tag (63 bytes).
//! - A connection can subscribe to interface events once; a second request is refused (-31).
//! - The link's MTU of a vhost-user interface cannot be set (-126). That of a memif can, and sets
//!   the MTU of layer 3 as well. [`SwInterfaceSetMtu`] works on both and can be read back. A bridge
//!   domain forwards longer frames nevertheless.
//!
//! VLAN tags:
//! - The numbers of a rewrite are not checked: 0 and 5000 are accepted, 70000 is truncated to 16
//!   bits.
//! - Rewrite and EFP filter are reset when the interface leaves its bridge domain for none, and
//!   stay when it moves to another one.
//! - The rewrite of an interface that is deleted while it is in no bridge domain is inherited by
//!   the next interface with its index, even one of another kind, and stays when that one joins a
//!   bridge domain. Set the rewrite of each new interface, if only to none. An EFP filter is
//!   inherited as well, and has no effect without a rewrite.
//! - A rewrite that pushes a tag pops any tag of output: without the EFP filter the frames of all
//!   other VLANs reach the interface as well.

use super::macros::{dumps, messages, requests};
use super::sub_interface::SubIfFlags;
use crate::wire::{FixedText, Text, flags, open_enum};

/// This index means all interfaces in a dump, and none elsewhere.
pub const NO_INTERFACE: u32 = u32::MAX;

flags! {
    /// The state of an interface.
    IfStatusFlags {
        ADMIN_UP = 1,
        /// The peer of a memif or vhost-user interface is connected. The flag requires
        /// [`Self::ADMIN_UP`].
        LINK_UP = 2,
    }
}

open_enum! {
    /// The type of an interface.
    IfType {
        Hardware = 0,
        /// The interface is a part of another.
        Sub = 1,
        /// The interface is point to point.
        P2p = 2,
        Pipe = 3,
    }
}

open_enum! {
    /// The rewrite of the VLAN tags of input. Output is rewritten inversely.
    VtrOp {
        Disabled = 0,
        /// Adds a tag.
        Push1 = 1,
        /// Adds two tags.
        Push2 = 2,
        /// Removes a tag.
        Pop1 = 3,
        /// Removes two tags.
        Pop2 = 4,
        /// Replaces a tag by one.
        Translate11 = 5,
        /// Replaces a tag by two.
        Translate12 = 6,
        /// Replaces two tags by one.
        Translate21 = 7,
        /// Replaces two tags by two.
        Translate22 = 8,
    }
}

flags! {
    /// The L2 input features that usnet uses. The bits are those of 26.06.
    L2InputFeatures {
        /// VLAN tags are rewritten.
        VTR = 1 << 11,
        /// Frames are filtered by tables: [`InputAclSetInterface`](super::InputAclSetInterface).
        ACL = 1 << 14,
        POLICER = 1 << 15,
        /// Packets are compared with access lists:
        /// [`AclInterfaceSetAclList`](super::AclInterfaceSetAclList).
        FEATURE_ARC = 1 << 17,
    }
}

flags! {
    /// The L2 output features that usnet uses. The bits are those of 26.06.
    L2OutputFeatures {
        /// Frames that would not be accepted as input are dropped: [`L2InterfaceEfpFilter`].
        EFP_FILTER = 1 << 6,
        /// Packets are compared with access lists:
        /// [`AclInterfaceSetAclList`](super::AclInterfaceSetAclList).
        FEATURE_ARC = 1 << 11,
        POLICER = 1 << 12,
    }
}

messages! { INTERFACE_EVENTS, None;
    /// An interface was created, deleted or changed. Read it again: the flags are not its state,
    /// but only those that were set since the last event.
    ///
    /// The event may arrive between any two replies.
    Client SwInterfaceEvent("sw_interface_event", "2d3d95a7") {
        /// The number that the subscriber gave in [`WantInterfaceEvents`].
        pid: u32,
        sw_if_index: u32,
        flags: IfStatusFlags,
        deleted: bool,
    }
}

requests! { INTERFACE_REQUESTS, None;
    /// Subscribes to [`SwInterfaceEvent`], until the connection is closed.
    WantInterfaceEvents("want_interface_events", "476f5a08") {
        /// 1 subscribes, 0 unsubscribes.
        enable_disable: u32,
        pid: u32,
    } => WantInterfaceEventsReply("e8d4e804") {}

    /// Sets an interface administratively up or down.
    SwInterfaceSetFlags("sw_interface_set_flags", "f5aec1b8") {
        sw_if_index: u32,
        flags: IfStatusFlags,
    } => SwInterfaceSetFlagsReply("e8d4e804") {}

    /// Sets the MTU of the link, in bytes.
    HwInterfaceSetMtu("hw_interface_set_mtu", "e6746899") {
        sw_if_index: u32,
        mtu: u16,
    } => HwInterfaceSetMtuReply("e8d4e804") {}

    /// Sets the MTUs of layer 3, in bytes.
    SwInterfaceSetMtu("sw_interface_set_mtu", "5cbe85e5") {
        sw_if_index: u32,
        /// The MTUs of layer 3 (if no other applies), IPv4, IPv6 and MPLS.
        mtu: [u32; 4],
    } => SwInterfaceSetMtuReply("e8d4e804") {}

    SwInterfaceTagAddDel("sw_interface_tag_add_del", "426f8bc1") {
        is_add: bool,
        sw_if_index: u32,
        tag: FixedText<64>,
    } => SwInterfaceTagAddDelReply("e8d4e804") {}

    /// Adds, removes or replaces VLAN tags.
    L2InterfaceVlanTagRewrite("l2_interface_vlan_tag_rewrite", "62cc0bbc") {
        sw_if_index: u32,
        vtr_op: VtrOp,
        /// Whether the first tag is of 802.1Q, and not of 802.1ad.
        push_dot1q: u32,
        tag1: u32,
        tag2: u32,
    } => L2InterfaceVlanTagRewriteReply("e8d4e804") {}

    /// Sets the EFP filter, which drops output that would not be accepted as input: with a rewrite
    /// that pushes a tag, all frames but those with this tag. Without the filter a rewrite pops any
    /// tag. It is reset when the interface is removed from its bridge domain.
    ///
    /// The `retval` of the reply is that of some other request, unless the interface's index is
    /// invalid.
    L2InterfaceEfpFilter("l2_interface_efp_filter", "5501adee") {
        sw_if_index: u32,
        enable_disable: bool,
    } => L2InterfaceEfpFilterReply("e8d4e804") {}

    /// Reads the L2 features of an interface in a bridge domain, and is refused for any other
    /// interface. It is available since 26.06.
    L2FlagsGet("l2_flags_get", "f9e6675e") {
        sw_if_index: u32,
    } => L2FlagsGetReply("35cb810f") {
        input_feature_bitmap: L2InputFeatures,
        output_feature_bitmap: L2OutputFeatures,
    }

    CreateLoopbackInstance("create_loopback_instance", "d36a3ee2") {
        /// If the address is zero, VPP chooses one.
        mac_address: [u8; 6],
        is_specified: bool,
        /// The number in the interface's name, if `is_specified`.
        user_instance: u32,
    } => CreateLoopbackInstanceReply("5383d31f") {
        sw_if_index: u32,
    }

    /// Deletes an interface of [`CreateLoopbackInstance`].
    DeleteLoopback("delete_loopback", "f9e6675e") {
        sw_if_index: u32,
    } => DeleteLoopbackReply("e8d4e804") {}
}

dumps! { INTERFACE_DUMPS, None;
    SwInterfaceDump("sw_interface_dump", "aa610c27") {
        /// [`NO_INTERFACE`] means all. So does 0 for VPP, so that `local0` cannot be read alone.
        sw_if_index: u32,
        name_filter_valid: bool,
        /// A part of the names, if `name_filter_valid`.
        name_filter: Text,
    } => SwInterfaceDetails("sw_interface_details", "6c221fc7") {
        sw_if_index: u32,
        sup_sw_if_index: u32,
        l2_address: [u8; 6],
        flags: IfStatusFlags,
        r#type: IfType,
        link_duplex: u32,
        /// The speed in kbit/s.
        link_speed: u32,
        /// The MTU in bytes.
        link_mtu: u16,
        /// The MTUs of layer 3 (if no other applies), IPv4, IPv6 and MPLS, in bytes.
        mtu: [u32; 4],
        sub_id: u32,
        sub_number_of_tags: u8,
        sub_outer_vlan_id: u16,
        sub_inner_vlan_id: u16,
        sub_if_flags: SubIfFlags,
        vtr_op: VtrOp,
        vtr_push_dot1q: u32,
        vtr_tag1: u32,
        vtr_tag2: u32,
        outer_tag: u16,
        b_dmac: [u8; 6],
        b_smac: [u8; 6],
        b_vlanid: u16,
        i_sid: u32,
        interface_name: FixedText<64>,
        interface_dev_type: FixedText<64>,
        tag: FixedText<64>,
    }
}
