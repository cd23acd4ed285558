//! Which network has which bridge of the node, where several want one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{BridgeName, Engine, NetworkName, NodeNetwork};

/// A bridge of one of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bridge<'a> {
    engine: Engine,
    name: &'a BridgeName,
}

impl<'a> Bridge<'a> {
    /// The bridge of a network.
    pub(super) fn of(network: &'a NodeNetwork) -> Self {
        Self { engine: network.engine, name: &network.bridge.name }
    }
}

/// A network that wants a bridge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender<'a> {
    pub name: &'a NetworkName,
    /// When it was created. One that does not say counts as the youngest.
    pub created: Option<&'a Time>,
    /// The bridge that it wants.
    pub wants: Bridge<'a>,
    /// The bridge that it has on this node.
    pub held: Option<Bridge<'a>>,
    /// The bridge that it keeps if it does not get the one that it wants.
    pub stays: Option<Bridge<'a>>,
}

impl Contender<'_> {
    fn age(&self) -> (bool, Option<&Time>, &NetworkName) {
        (self.created.is_none(), self.created, self.name)
    }
}

/// The owner of each bridge; those that are `kept` have theirs already.
pub(super) fn assign<'a>(
    contenders: Vec<Contender<'a>>,
    kept: BTreeMap<Bridge<'a>, &'a NetworkName>,
) -> BTreeMap<Bridge<'a>, &'a NetworkName> {
    let (holders, mut others): (Vec<_>, Vec<_>) =
        contenders.into_iter().partition(|contender| contender.held == Some(contender.wants));
    let mut fixed = kept;
    fixed.extend(holders.into_iter().map(|holder| (holder.wants, holder.name)));
    others.sort_by(|one, other| one.age().cmp(&other.age()));
    let mut staying = BTreeSet::new();
    loop {
        let mut owners = fixed.clone();
        let mut refused = Vec::new();
        for contender in others.iter().filter(|contender| !staying.contains(contender.name)) {
            match owners.get(&contender.wants) {
                Some(_) => refused.push(contender),
                None => drop(owners.insert(contender.wants, contender.name)),
            }
        }
        // A network that was to leave its bridge, and cannot, keeps it: who gets it is decided again.
        let stuck = refused.into_iter().filter_map(|contender| Some((contender.stays?, contender.name)));
        let stuck: Vec<_> = stuck.collect();
        if stuck.is_empty() {
            return owners;
        }
        staying.extend(stuck.iter().map(|(_, name)| *name));
        fixed.extend(stuck);
    }
}
