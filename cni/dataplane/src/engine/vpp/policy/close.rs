//! A new port has access lists that let nothing pass but neighbor discovery, before it is up (IO).

use super::plan::whitelist;
use super::rules::closed;
use super::{tag, unenforceable};
use crate::engine::error::EngineError;
use usnet_vpp::messages::{
    AclAddReplace, AclDel, AclDump, AclInterfaceListDump, AclInterfaceSetAclList, AclInterfaceSetEtypeWhitelist,
    ByDirection, L2FlagsGet, L2InputFeatures, L2OutputFeatures, NO_ACL,
};
use usnet_vpp::{Answers, Api, Batch, DumpTicket, Ticket};

/// Closes an interface that is down. Returns its access list, which it has alone: to look for one
/// that others have means to read all of them. Otherwise returns why it is not closed, and leaves
/// nothing.
pub(in crate::engine::vpp) async fn close_new(
    api: &mut impl Api,
    index: u32,
) -> Result<Result<u32, String>, EngineError> {
    if let Some(reason) = unenforceable(api) {
        return Ok(Err(reason));
    }
    let mut batch = Batch::new();
    let create = ListTicket::request(&mut batch);
    let acl_index = match create.read(&api.send(&batch).await?) {
        Ok(acl_index) => acl_index,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut batch = Batch::new();
    let closed = ClosedTickets::request(&mut batch, index, acl_index);
    let Some(reason) = closed.refusal(&api.send(&batch).await?)? else { return Ok(Ok(acl_index)) };
    let mut batch = Batch::new();
    let _harmless = batch.request(AclInterfaceSetAclList { sw_if_index: index, acls: ByDirection::default() });
    let _harmless = batch.request(AclDel { acl_index });
    api.send(&batch).await?;
    Ok(Err(reason))
}

/// An access list that closes an interface, while it is created.
pub(in crate::engine::vpp) struct ListTicket(Ticket<AclAddReplace>);

impl ListTicket {
    pub(in crate::engine::vpp) fn request(batch: &mut Batch) -> Self {
        Self(batch.request(AclAddReplace { acl_index: NO_ACL, tag: tag(), rules: closed().input }))
    }

    /// Its index, or why VPP refused it.
    pub(in crate::engine::vpp) fn read(self, answers: &Answers) -> Result<u32, String> {
        answers.reply(self.0).map(|created| created.acl_index).map_err(|error| error.to_string())
    }
}

/// An interface while it gets the access list that closes it.
pub(in crate::engine::vpp) struct ClosedTickets {
    acls: ByDirection<u32>,
    reset: Ticket<AclInterfaceSetAclList>,
    whitelist: Ticket<AclInterfaceSetEtypeWhitelist>,
    lists: Ticket<AclInterfaceSetAclList>,
    rules: DumpTicket<AclDump>,
    found: DumpTicket<AclInterfaceListDump>,
    features: Ticket<L2FlagsGet>,
}

impl ClosedTickets {
    pub(in crate::engine::vpp) fn request(batch: &mut Batch, sw_if_index: u32, acl_index: u32) -> Self {
        let acls = ByDirection { input: vec![acl_index], output: vec![acl_index] };
        Self {
            // An interface that exists already may have other lists, or some that are not compared
            // with.
            reset: batch.request(AclInterfaceSetAclList { sw_if_index, acls: ByDirection::default() }),
            whitelist: batch.request(AclInterfaceSetEtypeWhitelist { sw_if_index, whitelist: whitelist() }),
            lists: batch.request(AclInterfaceSetAclList { sw_if_index, acls: acls.clone() }),
            rules: batch.dump(AclDump { acl_index }),
            found: batch.dump(AclInterfaceListDump { sw_if_index }),
            features: batch.request(L2FlagsGet { sw_if_index }),
            acls,
        }
    }

    /// Why the interface is not closed, if it is not.
    pub(in crate::engine::vpp) fn refusal(self, answers: &Answers) -> Result<Option<String>, EngineError> {
        let lists = [self.reset, self.lists].map(|ticket| answers.reply(ticket).err());
        let refused = lists.into_iter().chain([answers.reply(self.whitelist).err()]).flatten().next();
        if let Some(error) = refused {
            return Ok(Some(error.to_string()));
        }
        let features = match answers.reply(self.features) {
            Ok(features) => features,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let is_compared = features.input_feature_bitmap.contains(L2InputFeatures::FEATURE_ARC)
            && features.output_feature_bitmap.contains(L2OutputFeatures::FEATURE_ARC);
        let has_rules = answers.details(self.rules)?.iter().any(|acl| acl.rules == closed().input);
        let has_lists = answers.details(self.found)?.iter().any(|details| details.acls == self.acls);
        let is_right = is_compared && has_rules && has_lists;
        Ok((!is_right).then(|| "it did not compare with the access lists that were set".to_owned()))
    }
}
