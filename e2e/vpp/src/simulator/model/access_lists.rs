//! Access lists, and which interfaces have them. The simulator moves no packets.

use super::pool::Pool;
use std::collections::BTreeMap;
use usnet_vpp::messages::{AclRule, ByDirection};
use usnet_vpp::wire::FixedText;

#[derive(Debug, Default)]
pub(crate) struct AccessLists {
    pub(crate) acls: Pool<Acl>,
    /// By interface index; those of a deleted interface are removed.
    pub(crate) lists: BTreeMap<u32, ByDirection<u32>>,
    /// By interface index. They stay when the interface is deleted.
    pub(crate) whitelists: BTreeMap<u32, ByDirection<u16>>,
}

#[derive(Debug)]
pub(crate) struct Acl {
    pub(crate) tag: FixedText<64>,
    pub(crate) rules: Vec<AclRule>,
}

impl AccessLists {
    /// Whether an access list is used for input, and for output.
    pub(crate) fn users(&self, acl_index: u32) -> [bool; 2] {
        let has = |list: &[u32]| list.contains(&acl_index);
        [self.lists.values().any(|lists| has(&lists.input)), self.lists.values().any(|lists| has(&lists.output))]
    }
}
