//! A new port has access lists that let nothing pass but neighbor discovery, before it is up (IO).

use super::plan::whitelist;
use super::rules::closed;
use super::{tag, unenforceable};
use crate::engine::error::EngineError;
use usnet_vpp::messages::{
    AclAddReplace, AclDel, AclDump, AclInterfaceListDump, AclInterfaceSetAclList, AclInterfaceSetEtypeWhitelist,
    ByDirection, L2FlagsGet, L2InputFeatures, L2OutputFeatures, NO_ACL,
};
use usnet_vpp::{Api, Batch};

/// Closes an interface that is down. Returns its access list, which it has alone: to look for one
/// that others have means to read all of them. Otherwise returns why it is not closed, and leaves
/// nothing.
pub(in crate::engine::vpp) async fn close_new(
    api: &mut impl Api,
    sw_if_index: u32,
) -> Result<Result<u32, String>, EngineError> {
    if let Some(reason) = unenforceable(api) {
        return Ok(Err(reason));
    }
    let mut batch = Batch::new();
    let create = batch.request(AclAddReplace { acl_index: NO_ACL, tag: tag(), rules: closed().input });
    let acl_index = match api.send(&batch).await?.reply(create) {
        Ok(created) => created.acl_index,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let reason = set(api, sw_if_index, acl_index).await?;
    let Some(reason) = reason else { return Ok(Ok(acl_index)) };
    let mut batch = Batch::new();
    let _harmless = batch.request(AclInterfaceSetAclList { sw_if_index, acls: ByDirection::default() });
    let _harmless = batch.request(AclDel { acl_index });
    api.send(&batch).await?;
    Ok(Err(reason))
}

/// Returns why the interface is not closed.
async fn set(api: &mut impl Api, sw_if_index: u32, acl_index: u32) -> Result<Option<String>, EngineError> {
    let mut batch = Batch::new();
    let acls = ByDirection { input: vec![acl_index], output: vec![acl_index] };
    // An interface that exists already may have other lists, or some that are not compared with.
    let reset = batch.request(AclInterfaceSetAclList { sw_if_index, acls: ByDirection::default() });
    let whitelist = batch.request(AclInterfaceSetEtypeWhitelist { sw_if_index, whitelist: whitelist() });
    let lists = batch.request(AclInterfaceSetAclList { sw_if_index, acls: acls.clone() });
    let rules = batch.dump(AclDump { acl_index });
    let found = batch.dump(AclInterfaceListDump { sw_if_index });
    let features = batch.request(L2FlagsGet { sw_if_index });
    let answers = api.send(&batch).await?;
    let replies = [answers.reply(reset).err(), answers.reply(whitelist).err(), answers.reply(lists).err()];
    if let Some(error) = replies.into_iter().flatten().next() {
        return Ok(Some(error.to_string()));
    }
    let features = match answers.reply(features) {
        Ok(features) => features,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let is_compared = features.input_feature_bitmap.contains(L2InputFeatures::FEATURE_ARC)
        && features.output_feature_bitmap.contains(L2OutputFeatures::FEATURE_ARC);
    let has_rules = answers.details(rules)?.iter().any(|acl| acl.rules == closed().input);
    let has_lists = answers.details(found)?.iter().any(|details| details.acls == acls);
    let is_right = is_compared && has_rules && has_lists;
    Ok((!is_right).then(|| "it did not compare with the access lists that were set".to_owned()))
}
