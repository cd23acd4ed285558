//! What has to be decided again on reservations after a change.

use super::attachments::ObjectName;
use super::cluster::Cache;
use super::dirty::Dirty;
use super::objects::{Compiled, Namespace};
use super::reservations::Reservation;
use usnet_common::api::reflector::Changed;

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

    /// The compiled form of a network changed.
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
