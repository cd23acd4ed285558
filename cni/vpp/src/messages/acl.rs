//! Access lists: rules for packets, and the lists of them by which an interface checks what it
//! receives (input) and what it sends (output) (`acl.api`).
//!
//! Read in the source of VPP 26.06:
//! - The first rule that matches decides, and a packet that no rule matches is dropped. What is not
//!   IP passes, unless a whitelist of Ethernet types says otherwise.
//! - [`AclAction::PermitReflect`] adds a session, with which packets of the same addresses and
//!   ports pass in both directions without being compared with rules. [`AclInterfaceSetAclList`]
//!   with an access list that was not in the list before, or without one that was, ends the
//!   sessions of the interface; [`AclAddReplace`] ends none.
//! - An access list that is used is not deleted (-142, -143, -149). Its number is used again at
//!   once.
//! - The lists of an interface go with it. Its whitelist stays, and is that of the next interface
//!   with the index.
//! - What leaves its bridge domain and returns is not checked, although [`AclInterfaceListDump`]
//!   names its access lists, and setting the same ones does nothing; setting none before helps.
//!   What counts is the feature that [`L2FlagsGet`](super::L2FlagsGet) reads.
//! - A whitelist counts when access lists are applied the next time, or are applied.
//! - All interfaces share one table of sessions. Of what [`AclPluginGetConnTableMaxEntries`] reads,
//!   one for each thread is never used. When no other is left, a packet that needs one is dropped.

use super::Prefix;
use super::macros::{dumps, messages, requests};
use crate::wire::{DecodeError, Field, FixedText, Reader, Writer, decode_elements, open_enum, structure};

const PLUGIN: &str = "acl_plugin.so";

/// This index means a new access list, or all.
pub const NO_ACL: u32 = u32::MAX;

open_enum! {
    AclAction: u8 {
        Deny = 0,
        Permit = 1,
        PermitReflect = 2,
    }
}

structure! {
    /// What packets match, and what happens to them. Both prefixes are of one family.
    AclRule {
        action: AclAction,
        source: Prefix,
        destination: Prefix,
        /// 0 is any, and then ports and flags are not compared.
        protocol: u8,
        /// The source port, or the type of ICMP.
        first_source: u16,
        last_source: u16,
        /// The destination port, or the code of ICMP.
        first_destination: u16,
        last_destination: u16,
        tcp_flags_mask: u8,
        tcp_flags_value: u8,
    }
}

/// Numbers for what an interface receives and for what it sends, preceded by how many there are in
/// all, and how many of those are for input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByDirection<T> {
    pub input: Vec<T>,
    pub output: Vec<T>,
}

impl<T: Field> Field for ByDirection<T> {
    const MIN_SIZE: usize = 2;

    fn encode(&self, writer: &mut Writer) {
        // No list is that long.
        let count = |length: usize| u8::try_from(length).unwrap_or(u8::MAX);
        writer.field(&count(self.input.len() + self.output.len()));
        writer.field(&count(self.input.len()));
        self.input.iter().chain(&self.output).for_each(|number| number.encode(writer));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (count, of_input) = (usize::from(u8::decode(reader)?), usize::from(u8::decode(reader)?));
        let of_input = of_input.min(count);
        let input = decode_elements(reader, of_input)?;
        Ok(Self { input, output: decode_elements(reader, count - of_input)? })
    }
}

messages! { ACL_MESSAGES, Some(PLUGIN);
    /// Creates an access list, or replaces the rules of one, at once and while packets pass.
    ClientAndContext AclAddReplace("acl_add_replace", "ee5c2f18") {
        /// [`NO_ACL`] for a new one.
        acl_index: u32,
        tag: FixedText<64>,
        rules: Vec<AclRule>,
    }
    /// The answer to [`AclAddReplace`], in which the code is not the first field.
    Context AclAddReplaceReply("acl_add_replace_reply", "ac407b0c") {
        acl_index: u32,
        retval: i32,
    }

    /// Reads how many sessions all interfaces may have together.
    ClientAndContext AclPluginGetConnTableMaxEntries("acl_plugin_get_conn_table_max_entries", "51077d14") {}
    /// The answer to [`AclPluginGetConnTableMaxEntries`], which has no code.
    Context AclPluginGetConnTableMaxEntriesReply("acl_plugin_get_conn_table_max_entries_reply", "7a096d3d") {
        conn_table_max_entries: u64,
    }
}

impl crate::Request for AclAddReplace {
    type Reply = AclAddReplaceReply;
}

impl crate::Reply for AclAddReplaceReply {
    const RETVAL_AT: usize = 4;

    fn retval(&self) -> i32 {
        self.retval
    }
}

impl crate::Request for AclPluginGetConnTableMaxEntries {
    type Reply = AclPluginGetConnTableMaxEntriesReply;
}

impl crate::Reply for AclPluginGetConnTableMaxEntriesReply {
    /// Behind all fields.
    const RETVAL_AT: usize = u64::MIN_SIZE;

    fn retval(&self) -> i32 {
        0
    }
}

requests! { ACL_REQUESTS, Some(PLUGIN);
    AclDel("acl_del", "ef34fea4") {
        acl_index: u32,
    } => AclDelReply("e8d4e804") {}

    /// Sets the access lists of an interface.
    AclInterfaceSetAclList("acl_interface_set_acl_list", "473982bd") {
        sw_if_index: u32,
        acls: ByDirection<u32>,
    } => AclInterfaceSetAclListReply("e8d4e804") {}

    /// Sets the types of frames that pass besides IP while an interface has access lists. All do
    /// without any.
    AclInterfaceSetEtypeWhitelist("acl_interface_set_etype_whitelist", "3f5c2d2d") {
        sw_if_index: u32,
        whitelist: ByDirection<u16>,
    } => AclInterfaceSetEtypeWhitelistReply("e8d4e804") {}
}

dumps! { ACL_DUMPS, Some(PLUGIN);
    /// Reads an access list, or all.
    AclDump("acl_dump", "ef34fea4") {
        acl_index: u32,
    } => AclDetails("acl_details", "95babae0") {
        acl_index: u32,
        tag: FixedText<64>,
        rules: Vec<AclRule>,
    }

    /// Reads the access lists of an interface, or of all.
    AclInterfaceListDump("acl_interface_list_dump", "f9e6675e") {
        sw_if_index: u32,
    } => AclInterfaceListDetails("acl_interface_list_details", "e695d256") {
        sw_if_index: u32,
        acls: ByDirection<u32>,
    }

    /// Reads the whitelist of an interface, or those of all that have one.
    AclInterfaceEtypeWhitelistDump("acl_interface_etype_whitelist_dump", "f9e6675e") {
        sw_if_index: u32,
    } => AclInterfaceEtypeWhitelistDetails("acl_interface_etype_whitelist_details", "cc2bfded") {
        sw_if_index: u32,
        whitelist: ByDirection<u16>,
    }
}
