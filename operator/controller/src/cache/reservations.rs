//! `UserspaceReservation`s, and what is decided on them for each network.

use super::attachments::ObjectName;
use super::cluster::Cache;
use super::dirty::Dirty;
use super::objects::{Compiled, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_common::api::reflector::Changed;
use usnet_crds::reservation::validate::ValidReservation;
use usnet_crds::{FixedAttachment, UserspaceReservationStatus};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reservations {
    pub objects: BTreeMap<ObjectName, Reservation>,
    /// By network, as last evaluated.
    pub decided: BTreeMap<String, Decision>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    pub uid: String,
    pub generation: i64,
    pub created: Option<Time>,
    pub is_deleting: bool,
    pub spec: Result<ValidReservation, String>,
    /// The status that was written last.
    pub status: Option<UserspaceReservationStatus>,
}

/// What the reservations of one network get.
pub type Decision = BTreeMap<ObjectName, Verdict>;

/// What a reservation gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its pods have these settings.
    Fixed(FixedAttachment),
    Refused {
        reason: &'static str,
        message: String,
    },
    /// The network is invalid: nodes keep what they have.
    Unknown,
}

impl Verdict {
    pub const fn fixed(&self) -> Option<&FixedAttachment> {
        match self {
            Self::Fixed(fixed) => Some(fixed),
            Self::Refused { .. } | Self::Unknown => None,
        }
    }
}

impl Reservation {
    /// The network that it names, if its spec is valid.
    pub fn network(&self) -> Option<&str> {
        self.spec.as_ref().ok().map(|valid| valid.network.as_str())
    }

    /// What decisions depend on.
    fn claim(&self) -> impl PartialEq + '_ {
        (&self.uid, &self.created, self.is_deleting, &self.spec)
    }
}

impl Reservations {
    pub fn of_network<'a>(&'a self, network: &'a str) -> impl Iterator<Item = (&'a ObjectName, &'a Reservation)> {
        self.objects.iter().filter(move |(_, reservation)| reservation.network() == Some(network))
    }

    /// What reservations fix on this network.
    pub fn fixed(&self, network: &str) -> impl Iterator<Item = &FixedAttachment> {
        self.decided.get(network).into_iter().flat_map(BTreeMap::values).filter_map(Verdict::fixed)
    }

    /// The networks on which something is reserved or requested.
    fn networks(&self) -> BTreeSet<String> {
        let requested = self.objects.values().filter_map(|it| it.network().map(str::to_owned));
        self.decided.keys().cloned().chain(requested).collect()
    }

    /// Whether something is reserved or requested on this network.
    fn concern(&self, network: &str) -> bool {
        self.decided.contains_key(network) || self.of_network(network).next().is_some()
    }
}

impl Dirty {
    /// All reservations.
    pub(super) fn all_reservations(&mut self, cache: &Cache) {
        self.reservations.extend(cache.reservations.objects.keys().cloned());
        self.undecided.extend(cache.reservations.networks());
    }

    /// A UserspaceReservation changed.
    pub fn reservation(&mut self, cache: &Cache, (name, before): Changed<ObjectName, Reservation>) {
        let now = cache.reservations.objects.get(&name);
        if before.as_ref().map(Reservation::claim) != now.map(Reservation::claim) {
            let networks = before.iter().chain(now).filter_map(Reservation::network);
            self.reserved.extend(networks.map(str::to_owned));
        }
        self.reservations.insert(name);
    }

    /// The spec of a network changed: it may not be compiled before it is decided again.
    pub(super) fn reservations_of_network(&mut self, cache: &Cache, network: &str) {
        if cache.reservations.concern(network) {
            self.undecided.insert(network.to_owned());
        }
    }

    /// What nodes are told of a network changed.
    pub(super) fn reservations_of_compiled(&mut self, cache: &Cache, network: &str, before: Option<&Compiled>) {
        let now = cache.compiled.get(network);
        let attachments = |compiled: Option<&Compiled>| compiled.map(|it| it.attachments.clone()).unwrap_or_default();
        if attachments(before) != attachments(now) && cache.reservations.concern(network) {
            self.reserved.insert(network.to_owned());
            self.reservations.extend(cache.reservations.of_network(network).map(|(name, _)| name.clone()));
        }
    }

    /// A namespace, or its labels, changed.
    pub(super) fn reservations_of_namespace(&mut self, cache: &Cache, name: &str, before: Option<&Namespace>) {
        let labels = |namespace: &Namespace| namespace.labels.clone();
        if before.map(labels) != cache.namespaces.get(name).map(labels) {
            let of_namespace = cache.reservations.objects.iter().filter(|(key, _)| key.namespace == name);
            self.reserved.extend(of_namespace.filter_map(|(_, it)| it.network().map(str::to_owned)));
        }
    }
}
