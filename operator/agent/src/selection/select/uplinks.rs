//! Selects the uplinks of the node, and the networks that can use theirs.

use super::Facts;
use crate::model::input::Compiled;
use crate::model::spec::RefusedNetwork;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::UPLINK_NOT_READY;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, NodeUplink, UplinkName};

/// Returns the network, if it needs no uplink or the node has its uplink.
pub(super) fn checked(facts: Facts<'_>, network: Arc<NodeNetwork>) -> Result<Arc<NodeNetwork>, RefusedNetwork> {
    let NodeNetwork { name, generation, engine, .. } = network.as_ref();
    let Some(message) = network.uplink_name().and_then(|uplink| problem(facts, name, *engine, uplink)) else {
        return Ok(network);
    };
    Err(RefusedNetwork {
        name: name.clone(),
        generation: *generation,
        engine: Some(*engine),
        reason: UPLINK_NOT_READY.to_owned(),
        message,
    })
}

/// Returns why the node cannot have a network. A network that has its uplink already keeps it while
/// the uplink is only unknown.
fn problem(facts: Facts<'_>, name: &NetworkName, engine: EngineKind, used: &UplinkName) -> Option<String> {
    let has_it = facts
        .previous
        .network(name)
        .is_some_and(|previous| previous.uplink_name() == Some(used) && facts.previous.uplinks.contains_key(used));
    let Some(uplinks) = &facts.input.uplinks else {
        return (!has_it).then(|| message::UPLINKS_UNKNOWN.to_owned());
    };
    let Some(uplink) = uplinks.get(used) else {
        return (!has_it).then(|| message::uplink_missing(used));
    };
    if uplink.engine != engine {
        return Some(message::uplink_of_other_engine(used, uplink.engine));
    }
    let is_here = uplink.nic(&facts.input.labels, facts.missing).is_some();
    (!is_here).then(|| message::uplink_not_on_node(used))
}

/// Whether a network waits for an uplink that may not have been read yet.
pub(crate) fn awaits_uplink(facts: Facts<'_>, compiled: &Compiled) -> bool {
    let NodeNetwork { name, engine, .. } = compiled.network.as_ref();
    let is_known = |uplink| facts.input.uplinks.as_ref().is_some_and(|uplinks| uplinks.contains_key(uplink));
    compiled.uplink_name().is_some_and(|uplink| !is_known(uplink) && problem(facts, name, *engine, uplink).is_some())
}

/// Returns the uplinks that select the node, and those that its networks still use.
pub(super) fn select<'a>(
    facts: Facts<'_>,
    networks: impl Iterator<Item = &'a Arc<NodeNetwork>>,
) -> BTreeMap<UplinkName, Arc<NodeUplink>> {
    let Facts { input, previous, missing, .. } = facts;
    let Some(all) = &input.uplinks else { return previous.uplinks.clone() };
    let selected = all.iter().filter_map(|(name, uplink)| {
        let uplink = uplink.on_node(&input.labels, missing)?;
        let known = previous.uplinks.get(name).filter(|known| ***known == uplink).cloned();
        Some((name.clone(), known.unwrap_or_else(|| Arc::new(uplink))))
    });
    let mut uplinks: BTreeMap<_, _> = selected.collect();
    for (name, engine) in networks.filter_map(|network| Some((network.uplink_name()?, network.engine))) {
        let is_missing = uplinks.get(name).is_none_or(|uplink| uplink.engine != engine);
        if let Some(known) = previous.uplinks.get(name).filter(|known| is_missing && known.engine == engine) {
            uplinks.insert(name.clone(), Arc::clone(known));
        }
    }
    uplinks
}
