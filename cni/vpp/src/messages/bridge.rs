//! Bridge domains (`l2.api`).
//!
//! Seen with VPP 26.06:
//! - [`SwInterfaceSetL2Bridge`] creates a bridge domain that does not exist, without a tag and
//!   without an error: read the bridge domain of each new member back.
//! - Bridge domain 0 accepts interfaces and drops all frames. Adding it is refused as existing
//!   (-119).
//! - Adding an existing bridge domain changes nothing (-119). One with members is not deleted
//!   (-120), but one with only a `uu-fwd` interface is.
//! - An interface that is refused as BVI, because there is one (-152), has left its previous bridge
//!   domain nevertheless.
//! - A bridge domain that has learned as many addresses as it may learns no other, and forwards
//!   its frames nevertheless. The default limit is 16777216, for which VPP's heap is too small.
//! - MAC addresses are learned per bridge domain and member, whatever the VLAN: there are no
//!   trunks.

use super::macros::{dumps, requests};
use crate::wire::{FixedText, flags, open_enum, structure};

/// This id means all bridge domains in a dump. In [`BridgeDomainAddDelV2`] it lets VPP choose the
/// id.
pub const NO_BRIDGE_DOMAIN: u32 = u32::MAX;

flags! {
    /// The functions of a bridge domain.
    BdFlags {
        LEARN = 1,
        FWD = 2,
        /// Floods broadcast and multicast.
        FLOOD = 4,
        /// Floods frames to an unknown address.
        UU_FLOOD = 8,
        /// Answers ARP requests itself.
        ARP_TERM = 16,
        /// Forwards ARP requests only to the interface for unknown unicast.
        ARP_UFWD = 32,
    }
}

open_enum! {
    /// The role of a member in its bridge domain.
    L2PortType {
        Normal = 0,
        /// The bridge virtual interface connects VPP's own layer 3. A bridge domain has at most
        /// one.
        Bvi = 1,
        /// The interface for unknown unicast, instead of flooding.
        UuFwd = 2,
    }
}

structure! {
    BridgeDomainSwIf {
        /// The field is unused.
        context: u32,
        sw_if_index: u32,
        /// Members of the same split horizon group other than 0 do not forward to each other.
        shg: u8,
    }
}

requests! { BRIDGE_REQUESTS, None;
    /// Works like [`BridgeDomainAddDelV2`], but VPP cannot choose the id. It is for releases before
    /// 23.06.
    BridgeDomainAddDel("bridge_domain_add_del", "600b7170") {
        bd_id: u32,
        flood: bool,
        uu_flood: bool,
        forward: bool,
        learn: bool,
        arp_term: bool,
        arp_ufwd: bool,
        /// The age in minutes; 0 for no aging.
        mac_age: u8,
        bd_tag: FixedText<64>,
        is_add: bool,
    } => BridgeDomainAddDelReply("e8d4e804") {}

    /// Creates or deletes a bridge domain. An existing one is not changed, and one with members is
    /// not deleted.
    BridgeDomainAddDelV2("bridge_domain_add_del_v2", "600b7170") {
        /// A number from 1 to 16777215, or [`NO_BRIDGE_DOMAIN`].
        bd_id: u32,
        flood: bool,
        uu_flood: bool,
        forward: bool,
        learn: bool,
        arp_term: bool,
        arp_ufwd: bool,
        /// The age in minutes; 0 for no aging.
        mac_age: u8,
        bd_tag: FixedText<64>,
        is_add: bool,
    } => BridgeDomainAddDelV2Reply("fcb1e980") {
        bd_id: u32,
    }

    BridgeFlags("bridge_flags", "1b0c5fbd") {
        bd_id: u32,
        is_set: bool,
        flags: BdFlags,
    } => BridgeFlagsReply("29b2a2b3") {
        resulting_feature_bitmap: u32,
    }

    /// Sets the time after which an unused address is forgotten.
    BridgeDomainSetMacAge("bridge_domain_set_mac_age", "b537ad7b") {
        bd_id: u32,
        /// The age in minutes; 0 for no aging.
        mac_age: u8,
    } => BridgeDomainSetMacAgeReply("e8d4e804") {}

    /// Sets the most addresses that a bridge domain learns. [`BridgeDomainDetails`] does not
    /// contain it; `show bridge-domain` does.
    BridgeDomainSetLearnLimit("bridge_domain_set_learn_limit", "89c52b5f") {
        bd_id: u32,
        learn_limit: u32,
    } => BridgeDomainSetLearnLimitReply("e8d4e804") {}

    /// Adds an interface to a bridge domain, or removes it. Adding removes it from its previous
    /// one. A bridge domain that does not exist is created silently.
    SwInterfaceSetL2Bridge("sw_interface_set_l2_bridge", "d0678b13") {
        rx_sw_if_index: u32,
        bd_id: u32,
        port_type: L2PortType,
        shg: u8,
        enable: bool,
    } => SwInterfaceSetL2BridgeReply("e8d4e804") {}
}

dumps! { BRIDGE_DUMPS, None;
    BridgeDomainDump("bridge_domain_dump", "74396a43") {
        /// [`NO_BRIDGE_DOMAIN`] means all.
        bd_id: u32,
        /// Reads only the domain with this member, unless it is
        /// [`NO_INTERFACE`](super::NO_INTERFACE).
        sw_if_index: u32,
    } => BridgeDomainDetails("bridge_domain_details", "0fa506fd") {
        bd_id: u32,
        flood: bool,
        uu_flood: bool,
        forward: bool,
        learn: bool,
        arp_term: bool,
        arp_ufwd: bool,
        /// The age in minutes; 0 for no aging.
        mac_age: u8,
        bd_tag: FixedText<64>,
        bvi_sw_if_index: u32,
        uu_fwd_sw_if_index: u32,
        sw_if_details: Vec<BridgeDomainSwIf>,
    }

    /// Reads the addresses that a bridge domain has learned.
    L2FibTableDump("l2_fib_table_dump", "c25fdce6") {
        bd_id: u32,
    } => L2FibTableDetails("l2_fib_table_details", "a44ef6b8") {
        bd_id: u32,
        mac: [u8; 6],
        sw_if_index: u32,
        static_mac: bool,
        filter_mac: bool,
        bvi_mac: bool,
    }
}
