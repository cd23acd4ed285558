//! Which network gets which bridge of the node, where several request the same. Networks that adopt
//! a bridge can share it, if VLANs separate them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{BridgeName, EngineKind, NetworkName, NodeNetwork, Ownership};

/// A bridge of one of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bridge<'a> {
    engine: EngineKind,
    name: &'a BridgeName,
}

impl<'a> Bridge<'a> {
    fn of(network: &'a NodeNetwork) -> Self {
        Self { engine: network.engine, name: &network.bridge.name }
    }
}

/// A network that requests a bridge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender<'a> {
    /// When it was created. One without a time counts as the youngest.
    pub created: Option<&'a Time>,
    /// The network as it is to be.
    pub requested: &'a NodeNetwork,
    /// The network as this node has it.
    pub previous: Option<&'a NodeNetwork>,
    /// The network as it stays if it does not get the bridge that it requests.
    pub fallback: Option<&'a NodeNetwork>,
}

impl Contender<'_> {
    fn age(&self) -> (bool, Option<&Time>, &NetworkName) {
        (self.created.is_none(), self.created, &self.requested.name)
    }

    /// Whether it has what it requests. Of an adopted bridge it has its VLANs only.
    fn is_holder(&self) -> bool {
        self.previous.is_some_and(|previous| {
            let is_adopted = self.requested.bridge.ownership == Ownership::Adopted;
            let has_vlans = !is_adopted || previous.vlans() == self.requested.vlans();
            Bridge::of(previous) == Bridge::of(self.requested) && has_vlans
        })
    }
}

/// The networks that have each bridge.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners<'a>(BTreeMap<Bridge<'a>, Vec<&'a NodeNetwork>>);

impl<'a> Owners<'a> {
    /// The network because of which another one cannot have its bridge.
    pub(super) fn rival(&self, network: &NodeNetwork) -> Option<&'a NetworkName> {
        let others = self.0.get(&Bridge::of(network)).into_iter().flatten();
        let mut others = others.filter(|other| other.name != network.name);
        others.find(|other| !network.shares_bridge_with(other)).map(|other| &other.name)
    }

    fn add(&mut self, network: &'a NodeNetwork) {
        self.0.entry(Bridge::of(network)).or_default().push(network);
    }
}

/// The owners of each bridge; those in `retained` have theirs already.
pub(super) fn assign<'a>(
    mut contenders: Vec<Contender<'a>>,
    retained: impl IntoIterator<Item = &'a NodeNetwork>,
) -> Owners<'a> {
    contenders.sort_by(|one, other| one.age().cmp(&other.age()));
    let mut fixed = Owners::default();
    retained.into_iter().for_each(|network| fixed.add(network));
    let mut others = Vec::new();
    for contender in contenders {
        if contender.is_holder() && fixed.rival(contender.requested).is_none() {
            fixed.add(contender.requested);
        } else {
            others.push(contender);
        }
    }
    let mut staying = BTreeSet::new();
    loop {
        let mut owners = fixed.clone();
        let mut refused = Vec::new();
        for contender in others.iter().filter(|contender| !staying.contains(&contender.requested.name)) {
            match owners.rival(contender.requested) {
                Some(_) => refused.push(contender),
                None => owners.add(contender.requested),
            }
        }
        // A network that was to change its bridge, and cannot, keeps its previous one. Another
        // network may have been assigned that one: the owners are assigned again.
        let stuck: Vec<_> = refused.into_iter().filter_map(|contender| contender.fallback).collect();
        if stuck.is_empty() {
            return owners;
        }
        staying.extend(stuck.iter().map(|network| &network.name));
        stuck.into_iter().for_each(|network| fixed.add(network));
    }
}
