//! The arbiter of resources that only one network can have.

use super::conflict::{Conflict, Conflicts};
use crate::cache::objects::Network;
use std::collections::{BTreeMap, BTreeSet};

/// What only one network can have.
pub(super) trait Resource: Copy {
    /// Resources with different keys never overlap.
    type Key: Ord;

    fn key(&self) -> Self::Key;

    /// Whether two networks cannot have these two resources of one key.
    fn overlaps(&self, other: &Self) -> bool;

    /// The reason of the condition of a network that cannot have this resource.
    const TAKEN: &'static str;

    /// Why this network cannot have the resource: another network has `claim`.
    fn taken(&self, network: &str, claim: &Claim<'_, Self>) -> String;
}

/// A resource that a network has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a, R> {
    pub(super) network: &'a str,
    pub(super) resource: R,
}

/// A network that requests resources.
#[derive(Debug, Clone)]
pub(super) struct Request<'a, R> {
    pub(super) name: &'a str,
    pub(super) network: &'a Network,
    /// The network gets all of them or none.
    pub(super) resources: Vec<R>,
    /// Whether it has been compiled with these.
    pub(super) is_held: bool,
}

/// The resources of all networks.
pub(super) struct Arbiter<'a, R: Resource> {
    claims: BTreeMap<R::Key, Vec<Claim<'a, R>>>,
    networks: &'a BTreeMap<String, Network>,
}

impl<'a, R: Resource> Arbiter<'a, R> {
    pub(super) const fn new(networks: &'a BTreeMap<String, Network>) -> Self {
        Self { claims: BTreeMap::new(), networks }
    }

    /// Decides these requests; `compiled` are the resources that compiled networks have.
    pub(super) fn decide(
        &mut self,
        mut requests: Vec<Request<'a, R>>,
        compiled: impl IntoIterator<Item = Claim<'a, R>>,
    ) -> Conflicts {
        requests.sort_by(|one, other| one.network.age(one.name).cmp(&other.network.age(other.name)));
        let (holders, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(|request| request.is_held);
        let are_decided: BTreeSet<&str> = holders.iter().map(|request| request.name).collect();
        let mut conflicts = Conflicts::default();
        let mut decide = |arbiter: &mut Self, request: Request<'a, R>| {
            if let Err(conflict) = arbiter.request(request.name, &request.resources) {
                conflicts.insert(request.name, conflict);
            }
        };
        holders.into_iter().for_each(|request| decide(self, request));
        // What nodes have until the networks are compiled again.
        let compiled = compiled.into_iter().filter(|claim| !are_decided.contains(claim.network));
        compiled.for_each(|claim| self.claim(claim));
        others.into_iter().for_each(|request| decide(self, request));
        conflicts
    }

    /// Gives the network all of these resources, unless another one has any of them.
    pub(super) fn request(&mut self, network: &'a str, resources: &[R]) -> Result<(), Conflict> {
        for resource in resources {
            if let Some(holder) = self.holder(network, resource) {
                let message = resource.taken(network, holder);
                return Err(Conflict::taken(R::TAKEN, &message, holder.network, self.networks));
            }
        }
        resources.iter().for_each(|resource| self.claim(Claim { network, resource: *resource }));
        Ok(())
    }

    pub(super) fn claim(&mut self, claim: Claim<'a, R>) {
        self.claims.entry(claim.resource.key()).or_default().push(claim);
    }

    /// What another network has of the resource.
    pub(super) fn holder(&self, network: &str, resource: &R) -> Option<&Claim<'a, R>> {
        let mut claims = self.claims.get(&resource.key())?.iter();
        claims.find(|claim| claim.network != network && resource.overlaps(&claim.resource))
    }
}
