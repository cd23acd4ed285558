//! Which network gets which bridge of the node, where several request the same.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{BridgeName, EngineKind, NetworkName, NodeNetwork};

/// A bridge of one of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bridge<'a> {
    engine: EngineKind,
    name: &'a BridgeName,
}

impl<'a> Bridge<'a> {
    /// The bridge of a network.
    pub(super) fn of(network: &'a NodeNetwork) -> Self {
        Self { engine: network.engine, name: &network.bridge.name }
    }
}

/// A network that requests a bridge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender<'a> {
    pub name: &'a NetworkName,
    /// When it was created. One without a time counts as the youngest.
    pub created: Option<&'a Time>,
    /// The bridge that it requests.
    pub requested: Bridge<'a>,
    /// The bridge that it has on this node.
    pub previous: Option<Bridge<'a>>,
    /// The bridge that it keeps if it does not get the one that it requests.
    pub fallback: Option<Bridge<'a>>,
}

impl Contender<'_> {
    fn age(&self) -> (bool, Option<&Time>, &NetworkName) {
        (self.created.is_none(), self.created, self.name)
    }
}

/// The owner of each bridge; those in `retained` have theirs already.
pub(super) fn assign<'a>(
    contenders: Vec<Contender<'a>>,
    retained: BTreeMap<Bridge<'a>, &'a NetworkName>,
) -> BTreeMap<Bridge<'a>, &'a NetworkName> {
    let (holders, mut others): (Vec<_>, Vec<_>) =
        contenders.into_iter().partition(|contender| contender.previous == Some(contender.requested));
    let mut fixed = retained;
    fixed.extend(holders.into_iter().map(|holder| (holder.requested, holder.name)));
    others.sort_by(|one, other| one.age().cmp(&other.age()));
    let mut staying = BTreeSet::new();
    loop {
        let mut owners = fixed.clone();
        let mut refused = Vec::new();
        for contender in others.iter().filter(|contender| !staying.contains(contender.name)) {
            match owners.get(&contender.requested) {
                Some(_) => refused.push(contender),
                None => drop(owners.insert(contender.requested, contender.name)),
            }
        }
        // A network that was to change its bridge, and cannot, keeps its previous one. Another
        // network may have been assigned that one: the owners are assigned again.
        let stuck = refused.into_iter().filter_map(|contender| Some((contender.fallback?, contender.name)));
        let stuck: Vec<_> = stuck.collect();
        if stuck.is_empty() {
            return owners;
        }
        staying.extend(stuck.iter().map(|(_, name)| *name));
        fixed.extend(stuck);
    }
}
