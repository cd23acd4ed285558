//! Access lists, and the lists of them that interfaces have.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::access_lists::Acl;
use crate::simulator::model::state::State;
use std::collections::BTreeSet;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AclAddReplace, AclAddReplaceReply, AclDel, AclDelReply, AclDetails, AclDump, AclInterfaceEtypeWhitelistDetails,
    AclInterfaceEtypeWhitelistDump, AclInterfaceListDetails, AclInterfaceListDump, AclInterfaceSetAclList,
    AclInterfaceSetAclListReply, AclInterfaceSetEtypeWhitelist, AclInterfaceSetEtypeWhitelistReply,
    AclPluginGetConnTableMaxEntries, AclPluginGetConnTableMaxEntriesReply, AclRule, ByDirection, L2InputFeatures,
    L2OutputFeatures, NO_ACL, NO_INTERFACE,
};

/// What VPP has unless its `startup.conf` says otherwise.
const SESSIONS_MAX: u64 = 500_000;

impl Handle for AclAddReplace {
    fn handle(&self, state: &mut State) -> Result<AclAddReplaceReply, Failure> {
        if let Some(code) = self.rules.iter().find_map(refusal) {
            return Err(code.into());
        }
        let acl = Acl { tag: self.tag.clone(), rules: self.rules.clone() };
        let acls = &mut state.access_lists.acls;
        if self.acl_index == NO_ACL {
            return Ok(AclAddReplaceReply { acl_index: acls.insert(acl), retval: 0 });
        }
        *acls.get_mut(self.acl_index).ok_or(ReturnCode::NoSuchEntry)? = acl;
        Ok(AclAddReplaceReply { acl_index: self.acl_index, retval: 0 })
    }
}

/// Why VPP takes no such rule.
fn refusal(rule: &AclRule) -> Option<ReturnCode> {
    let (source, destination) = (&rule.source.address, &rule.destination.address);
    if source.ip().is_none() || source.family != destination.family {
        return Some(ReturnCode::InvalidSrcAddress);
    }
    let is_backwards = rule.first_source > rule.last_source || rule.first_destination > rule.last_destination;
    is_backwards.then_some(ReturnCode::InvalidValue2)
}

impl Handle for AclDel {
    fn handle(&self, state: &mut State) -> Result<AclDelReply, Failure> {
        if state.access_lists.acls.get(self.acl_index).is_none() {
            return Err(ReturnCode::NoSuchEntry.into());
        }
        match state.access_lists.users(self.acl_index) {
            [true, _] => return Err(ReturnCode::AclInUseInbound.into()),
            [false, true] => return Err(ReturnCode::AclInUseOutbound.into()),
            [false, false] => {}
        }
        state.access_lists.acls.remove(self.acl_index);
        Ok(AclDelReply::default())
    }
}

impl Handle for AclInterfaceSetAclList {
    /// Only from none to some, and back, packets begin or end to be checked.
    fn handle(&self, state: &mut State) -> Result<AclInterfaceSetAclListReply, Failure> {
        let index = self.sw_if_index;
        state.interface(index)?;
        for list in [&self.acls.input, &self.acls.output] {
            if list.iter().any(|acl| state.access_lists.acls.get(*acl).is_none()) {
                return Err(ReturnCode::NoSuchEntry.into());
            }
            if list.iter().collect::<BTreeSet<_>>().len() < list.len() {
                return Err(ReturnCode::EntryAlreadyExists.into());
            }
        }
        let before = state.access_lists.lists.insert(index, self.acls.clone()).unwrap_or_default();
        let features = state.features.entry(index).or_default();
        if before.input.is_empty() != self.acls.input.is_empty() {
            features.set_input(L2InputFeatures::FEATURE_ARC, !self.acls.input.is_empty());
        }
        if before.output.is_empty() != self.acls.output.is_empty() {
            features.set_output(L2OutputFeatures::FEATURE_ARC, !self.acls.output.is_empty());
        }
        Ok(AclInterfaceSetAclListReply::default())
    }
}

impl Handle for AclInterfaceSetEtypeWhitelist {
    /// An interface that has access lists gets them again.
    fn handle(&self, state: &mut State) -> Result<AclInterfaceSetEtypeWhitelistReply, Failure> {
        let index = self.sw_if_index;
        state.interface(index)?;
        state.access_lists.whitelists.insert(index, self.whitelist.clone());
        let lists = state.access_lists.lists.get(&index).cloned().unwrap_or_default();
        let features = state.features.entry(index).or_default();
        if !lists.input.is_empty() {
            features.set_input(L2InputFeatures::FEATURE_ARC, true);
        }
        if !lists.output.is_empty() {
            features.set_output(L2OutputFeatures::FEATURE_ARC, true);
        }
        Ok(AclInterfaceSetEtypeWhitelistReply::default())
    }
}

impl Handle for AclPluginGetConnTableMaxEntries {
    fn handle(&self, _state: &mut State) -> Result<AclPluginGetConnTableMaxEntriesReply, Failure> {
        Ok(AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries: SESSIONS_MAX })
    }
}

impl List for AclDump {
    fn list(&self, state: &State) -> Vec<AclDetails> {
        let wanted = |index: u32| self.acl_index == NO_ACL || self.acl_index == index;
        let acls = state.access_lists.acls.iter().filter(|(index, _)| wanted(*index));
        acls.map(|(acl_index, acl)| AclDetails { acl_index, tag: acl.tag.clone(), rules: acl.rules.clone() }).collect()
    }
}

impl List for AclInterfaceListDump {
    /// Interfaces without access lists are among them.
    fn list(&self, state: &State) -> Vec<AclInterfaceListDetails> {
        let wanted = |index: u32| self.sw_if_index == NO_INTERFACE || self.sw_if_index == index;
        let indexes = state.interfaces.iter().map(|(index, _)| index).filter(|index| wanted(*index));
        let details = |sw_if_index: u32| {
            let acls = state.access_lists.lists.get(&sw_if_index).cloned().unwrap_or_default();
            AclInterfaceListDetails { sw_if_index, acls }
        };
        indexes.map(details).collect()
    }
}

impl List for AclInterfaceEtypeWhitelistDump {
    fn list(&self, state: &State) -> Vec<AclInterfaceEtypeWhitelistDetails> {
        let wanted = |index: u32| self.sw_if_index == NO_INTERFACE || self.sw_if_index == index;
        let is_set = |whitelist: &ByDirection<u16>| !(whitelist.input.is_empty() && whitelist.output.is_empty());
        let all = state.access_lists.whitelists.iter().filter(|(index, list)| wanted(**index) && is_set(list));
        let existing = all.filter(|(index, _)| state.interfaces.get(**index).is_some());
        let details = |(index, whitelist): (&u32, &ByDirection<u16>)| AclInterfaceEtypeWhitelistDetails {
            sw_if_index: *index,
            whitelist: whitelist.clone(),
        };
        existing.map(details).collect()
    }
}
