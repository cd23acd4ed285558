//! Gives ports the access lists that they should have (IO).
//!
//! Access lists are written first, then whitelists and lists of interfaces in one batch, then all
//! is read again. Lists that nothing uses any more go last.

use super::limits::{TooLarge, too_large};
use super::plan::{AccessLists, Changes, Place, PortChange, Wanted, plan, whitelist};
use super::ports::{self, BridgedPorts};
use super::rules::{PortRules, closed};
use super::{TAG, tag};
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{
    AclAddReplace, AclDel, AclDump, AclInterfaceEtypeWhitelistDump, AclInterfaceListDump, AclInterfaceSetAclList,
    AclInterfaceSetEtypeWhitelist, AclRule, ByDirection, L2FlagsGet, L2InputFeatures, L2OutputFeatures, NO_ACL,
    NO_INTERFACE,
};
use usnet_vpp::{Api, Batch, ReplyError};

/// What a port of a pod should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortPolicy {
    /// It finds neighbors, and nothing else.
    Closed,
    /// It has the rules that it had, and is closed if it has none.
    AsBefore,
    /// No policy restricts it.
    Open,
    Restricted {
        rules: PortRules,
        /// Whether its sessions end if its rules change.
        ends_sessions: bool,
    },
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enforced {
    /// Why VPP does not have all; `None` if it has.
    pub problem: Option<String>,
    /// The ports that are closed because their rules are too many, by the indexes of interfaces.
    pub too_large: BTreeMap<u32, TooLarge>,
    /// How many ports and access lists were not as they should be.
    pub changed: usize,
    /// The access lists of usnet that no interface has. Those that were found so before are
    /// deleted: the plugin may be about to use one.
    pub unused: BTreeSet<u32>,
}

/// Gives these ports what they should have. What is `unused_before` and unused still is deleted.
///
/// # Errors
/// VPP does not answer.
pub async fn enforce(
    api: &mut impl Api,
    bridged: &BridgedPorts,
    wanted: &BTreeMap<u32, PortPolicy>,
    unused_before: &BTreeSet<u32>,
) -> Result<Enforced, EngineError> {
    let rules = wanted.iter().filter_map(|(index, policy)| match policy {
        PortPolicy::Restricted { rules, .. } => Some((*index, rules.clone())),
        PortPolicy::Closed | PortPolicy::AsBefore | PortPolicy::Open => None,
    });
    let too_large = too_large(&rules.collect());
    let wanted = wanted.iter().map(|(index, policy)| (*index, wanted_of(policy, too_large.contains_key(index))));
    let wanted: BTreeMap<u32, Wanted> = wanted.collect();
    let before = read(api, wanted.keys()).await?;
    let changes = plan(&before, &wanted);
    let changed = changes.replaced.len() + changes.ports.len();
    let refusal = if changes.is_empty() { None } else { write(api, &changes).await? };
    if changed > 0 {
        let after = read(api, wanted.keys()).await?;
        let is_right = plan(&after, &wanted).is_empty() && ports::read(api).await? == *bridged;
        let reason = refusal.or_else(|| (!is_right).then(|| "VPP does not have what was set".to_owned()));
        let unused = delete_unused(api, &before, &plan(&after, &wanted), unused_before).await?;
        return Ok(Enforced { problem: reason, too_large, changed, unused });
    }
    let unused = delete_unused(api, &before, &changes, unused_before).await?;
    Ok(Enforced { problem: refusal, too_large, changed, unused })
}

fn wanted_of(policy: &PortPolicy, is_too_large: bool) -> Wanted {
    let (rules, ends_sessions) = match policy {
        PortPolicy::Open => (None, true),
        PortPolicy::Restricted { rules, ends_sessions } if !is_too_large => (Some(rules.clone()), *ends_sessions),
        PortPolicy::Closed | PortPolicy::AsBefore | PortPolicy::Restricted { .. } => (Some(closed()), true),
    };
    Wanted { rules, ends_sessions, keeps_any: *policy == PortPolicy::AsBefore }
}

/// Reads all access lists, and which interfaces have them.
async fn read(api: &mut impl Api, ports: impl Iterator<Item = &u32>) -> Result<AccessLists, EngineError> {
    let mut batch = Batch::new();
    let acls = batch.dump(AclDump { acl_index: NO_ACL });
    let lists = batch.dump(AclInterfaceListDump { sw_if_index: NO_INTERFACE });
    let whitelists = batch.dump(AclInterfaceEtypeWhitelistDump { sw_if_index: NO_INTERFACE });
    let features: Vec<_> = ports.map(|index| (*index, batch.request(L2FlagsGet { sw_if_index: *index }))).collect();
    let answers = api.send(&batch).await?;
    let has_any = |lists: &ByDirection<u32>| !(lists.input.is_empty() && lists.output.is_empty());
    let own = answers.details(acls)?.into_iter().filter(|acl| acl.tag.as_str() == TAG);
    let lists = answers.details(lists)?.into_iter().filter(|details| has_any(&details.acls));
    let whitelists = answers.details(whitelists)?.into_iter();
    // A refused request is of an interface that was deleted, or left its bridge domain.
    let in_effect = features.into_iter().filter_map(|(index, ticket)| {
        let found = answers.reply(ticket).ok()?;
        let input = found.input_feature_bitmap.contains(L2InputFeatures::FEATURE_ARC);
        Some((index, [input, found.output_feature_bitmap.contains(L2OutputFeatures::FEATURE_ARC)]))
    });
    Ok(AccessLists {
        own: own.map(|acl| (acl.acl_index, acl.rules)).collect(),
        lists: lists.map(|details| (details.sw_if_index, details.acls)).collect(),
        whitelists: whitelists.map(|details| (details.sw_if_index, details.whitelist)).collect(),
        in_effect: in_effect.collect(),
    })
}

/// Returns why VPP rejected a change.
async fn write(api: &mut impl Api, changes: &Changes) -> Result<Option<String>, EngineError> {
    let write = |acl_index: u32, rules: &Vec<AclRule>| AclAddReplace { acl_index, tag: tag(), rules: rules.clone() };
    let mut batch = Batch::new();
    let created = changes.created.iter().map(|rules| write(NO_ACL, rules));
    let created: Vec<Find> = created.map(|create| add_with(&mut batch, create, |reply| reply.acl_index)).collect();
    let replaced = changes.replaced.iter().map(|(acl, rules)| write(*acl, rules));
    let replaced: Vec<Find> = replaced.map(|replace| add(&mut batch, replace)).collect();
    let indexes: Result<Vec<u32>, ReplyError> = match batch.is_empty() {
        true => Ok(Vec::new()),
        false => {
            let answers = api.send(&batch).await?;
            let error = replaced.iter().find_map(|find| find(&answers).err());
            error.map_or_else(|| created.iter().map(|find| find(&answers)).collect(), Err)
        }
    };
    let indexes = match indexes {
        Ok(indexes) => indexes,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let mut batch = Batch::new();
    let set: Vec<Find> = changes.ports.iter().flat_map(|port| set_lists(&mut batch, port, &indexes)).collect();
    if batch.is_empty() {
        return Ok(None);
    }
    let answers = api.send(&batch).await?;
    Ok(set.iter().find_map(|find| find(&answers).err()).map(|error| error.to_string()))
}

/// The whitelist comes before the lists, which begin to be compared with it, and goes after them.
fn set_lists(batch: &mut Batch, port: &PortChange, created: &[u32]) -> Vec<Find> {
    let sw_if_index = port.index;
    let lists = |acls| AclInterfaceSetAclList { sw_if_index, acls };
    let types = |whitelist| AclInterfaceSetEtypeWhitelist { sw_if_index, whitelist };
    let number = |place: Place| match place {
        Place::Existing(acl) => Some(acl),
        Place::Created(place) => created.get(place).copied(),
    };
    let Some(places) = port.lists else {
        return vec![add(batch, lists(ByDirection::default())), add(batch, types(ByDirection::default()))];
    };
    // Without its access list nothing is set.
    let [Some(input), Some(output)] = places.map(number) else { return Vec::new() };
    let reset = port.is_reset.then(|| add(batch, lists(ByDirection::default())));
    let set_types = add(batch, types(whitelist()));
    let set_lists = add(batch, lists(ByDirection { input: vec![input], output: vec![output] }));
    reset.into_iter().chain([set_types, set_lists]).collect()
}

/// Deletes access lists that interfaces had before, or that were unused before already. Returns the
/// others that nothing uses.
async fn delete_unused(
    api: &mut impl Api,
    before: &AccessLists,
    changes: &Changes,
    unused_before: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>, EngineError> {
    let had = |acl: &u32| before.lists.values().any(|lists| lists.input.contains(acl) || lists.output.contains(acl));
    let (gone, left): (BTreeSet<u32>, BTreeSet<u32>) =
        changes.unused.iter().copied().partition(|acl| had(acl) || unused_before.contains(acl));
    if !gone.is_empty() {
        let mut batch = Batch::new();
        for acl_index in gone {
            let _harmless = batch.request(AclDel { acl_index });
        }
        // What VPP rejects is used again, or was deleted already.
        api.send(&batch).await?;
    }
    Ok(left)
}
