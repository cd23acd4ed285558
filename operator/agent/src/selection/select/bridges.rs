//! Decides which network gets a bridge of the node that several request. Networks that adopt a
//! bridge can share it if VLANs separate them.

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
    /// When the network was created. A network without a time counts as the youngest.
    pub created: Option<&'a Time>,
    /// The network in its requested form.
    pub requested: &'a NodeNetwork,
    /// The network in its previous form on this node.
    pub previous: Option<&'a NodeNetwork>,
    /// The form that the network keeps if it does not get the bridge that it requests.
    pub fallback: Option<&'a NodeNetwork>,
}

impl Contender<'_> {
    fn age(&self) -> (bool, Option<&Time>, &NetworkName) {
        (self.created.is_none(), self.created, &self.requested.name)
    }

    /// Whether the network has the bridge that it requests. Of an adopted bridge, a network holds
    /// only its VLANs.
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
    /// Returns a network that prevents this one from having its bridge.
    pub(super) fn rival(&self, network: &NodeNetwork) -> Option<&'a NetworkName> {
        let others = self.0.get(&Bridge::of(network)).into_iter().flatten();
        let mut others = others.filter(|other| other.name != network.name);
        others.find(|other| !network.shares_bridge_with(other)).map(|other| &other.name)
    }

    fn add(&mut self, network: &'a NodeNetwork) {
        self.0.entry(Bridge::of(network)).or_default().push(network);
    }
}

/// Assigns each bridge to its owners. The networks in `retained` have their bridges already.
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
        // A network that cannot change its bridge as requested keeps its previous one, which may
        // have been assigned to another network: all are assigned again.
        let stuck: Vec<_> = refused.into_iter().filter_map(|contender| contender.fallback).collect();
        if stuck.is_empty() {
            return owners;
        }
        staying.extend(stuck.iter().map(|network| &network.name));
        stuck.into_iter().for_each(|network| fixed.add(network));
    }
}
