//! The access lists of usnet that interfaces of pods have, which go with them (IO).

use super::TAG;
use crate::engine::error::EngineError;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{AclDump, AclInterfaceListDetails, AclInterfaceListDump};
use usnet_vpp::{Api, Batch};

/// Reads the access lists of usnet that these interfaces have.
pub(in crate::engine::vpp) async fn read_own_lists(
    api: &mut impl Api,
    indexes: Vec<u32>,
) -> Result<BTreeMap<u32, BTreeSet<u32>>, EngineError> {
    if indexes.is_empty() || !api.supports::<AclInterfaceListDump>() {
        return Ok(BTreeMap::new());
    }
    let mut batch = Batch::new();
    let tickets: Vec<_> =
        indexes.into_iter().map(|sw_if_index| batch.dump(AclInterfaceListDump { sw_if_index })).collect();
    let answers = api.send(&batch).await?;
    let mut lists: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for ticket in tickets {
        for AclInterfaceListDetails { sw_if_index, acls } in answers.details(ticket)? {
            lists.entry(sw_if_index).or_default().extend(acls.input.into_iter().chain(acls.output));
        }
    }
    let all: BTreeSet<u32> = lists.values().flatten().copied().collect();
    if all.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut batch = Batch::new();
    let tickets: Vec<_> = all.into_iter().map(|acl_index| batch.dump(AclDump { acl_index })).collect();
    let answers = api.send(&batch).await?;
    let mut own = BTreeSet::new();
    for ticket in tickets {
        own.extend(answers.details(ticket)?.into_iter().filter(|acl| acl.tag.as_str() == TAG).map(|acl| acl.acl_index));
    }
    lists.values_mut().for_each(|list| list.retain(|acl| own.contains(acl)));
    Ok(lists)
}
